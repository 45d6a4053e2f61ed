import type { Command, Option } from 'commander';
import { within } from '../../../base/clock.js';
import { loadDotEnv, loadLocalConfig } from '../../../base/config/index.js';
import { API_SCOPES } from '../../../campaign/states/api-key.js';
import { CAMPAIGN_STATES } from '../../../campaign/states/campaign.js';
import { WANTED_STATUSES } from '../../../campaign/states/reported-status.js';
import { ROLES } from '../../../engine/recovery/roles.js';
import type { Answer, Context } from '../context/context.js';
import { LAST } from '../open/campaign-id.js';
import { withLocalVolley } from '../open/open.js';
import { cut, oneLine } from '../output/text.js';

/** The shells with a completion script. */
export type Shell = 'bash' | 'zsh' | 'fish';

/** The first argument of a call by a completion script; the words of the command line follow. */
const COMPLETE = '__complete';
/** A line that tells the script to complete the names of files. */
const FILES = ':files';

/** A shell waits for the candidates, so a slow Redis must not delay them. */
const IDS_WITHIN_MS = 1_500;
const IDS_SHOWN = 20;

/** Each script calls `volley __complete` with the words up to the cursor, and gets a candidate and a tab with its description per line. */
const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `_volley() {
  local line current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == ${FILES} ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
    else
      COMPREPLY+=("\${line%%$'\\t'*}")
    fi
  done < <("\${_volley_command[@]:-\${COMP_WORDS[0]}}" ${COMPLETE} -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
_volley_npx() {
  COMPREPLY=()
  if [[ \${COMP_WORDS[1]} != volley ]] || (( COMP_CWORD < 2 )); then return; fi
  local -a _volley_command=("\${COMP_WORDS[0]}" --no volley)
  local -a COMP_WORDS=("\${COMP_WORDS[@]:1}")
  local COMP_CWORD=$((COMP_CWORD - 1))
  _volley
}
complete -F _volley volley
complete -o default -F _volley_npx npx
`,
  zsh: `#compdef volley
_volley() {
  local line
  local -a found
  for line in "\${(@f)$("\${_volley_command[@]:-\${words[1]}}" ${COMPLETE} -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == ${FILES} ]]; then
      _files
    elif [[ -n $line ]]; then
      found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    fi
  done
  if (( $#found )); then _describe -V volley found; fi
}
_volley_npx() {
  if [[ \${words[2]} != volley ]] || (( CURRENT < 3 )); then _default; return; fi
  local -a _volley_command=("\${words[1]}" --no volley)
  shift words
  (( CURRENT-- ))
  _volley
}
compdef _volley volley
compdef _volley_npx npx
`,
  fish: `function __volley_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l command $words[1]
    if test "$words[1]" = npx
        set command npx --no volley
        set words $words[2..-1]
    end
    for line in ($command ${COMPLETE} -- $words[2..-1] 2>/dev/null)
        if test "$line" = ${FILES}
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c volley -k -f -a '(__volley_complete)'
complete -c npx -n '__fish_seen_subcommand_from volley' -k -f -a '(__volley_complete)'
`,
};

/** Values of options that their flags do not show. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  state: CAMPAIGN_STATES,
  status: ['delivered', ...WANTED_STATUSES],
  roles: ROLES,
  scope: API_SCOPES,
};
const FILE_OPTIONS = new Set(['out', 'message', 'options']);

/** `volley completion` */
export async function completion(_context: Context, shell: Shell): Promise<Answer> {
  const script = SCRIPTS[shell];
  return { json: { shell, script }, lines: [script.trimEnd()] };
}

interface Candidate {
  readonly text: string;
  readonly about: string;
}

/** Prints what may stand in the place of the last word. Prints nothing instead of an error. */
export async function complete(program: Command, context: Context, words: readonly string[]): Promise<void> {
  const current = words.at(-1) ?? '';
  const candidates = await candidatesFor(program, context, words.slice(0, -1), current).catch(() => []);
  const lines = candidates
    .filter(({ text }) => text === FILES || text.toLowerCase().startsWith(current.toLowerCase()))
    .map(({ text, about }) => (text === FILES ? text : `${text}\t${oneLine(about)}`));
  if (lines.length > 0) context.stdout.write(`${lines.join('\n')}\n`);
}

async function candidatesFor(
  program: Command,
  context: Context,
  before: readonly string[],
  current: string,
): Promise<readonly Candidate[]> {
  let command = program;
  let pending: Option | undefined;
  let positional = 0;
  for (const word of before) {
    if (pending !== undefined) pending = undefined;
    else if (word.startsWith('-') && word !== '-') pending = valueOption(command, word);
    else {
      const next = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
      if (next === undefined) positional += 1;
      else command = next;
    }
  }
  if (pending !== undefined) return valuesOf(pending, context);
  if (current.startsWith('-')) return optionsOf(command);
  const visible = command.createHelp().visibleCommands(command);
  const subcommands = command.commands
    .filter((each) => visible.includes(each))
    .map((each) => ({
      text: each.name(),
      about: each.summary() || firstSentence(each.description()),
    }));
  if (subcommands.length > 0) return positional === 0 ? subcommands : [];
  return argumentsOf(command, positional, context);
}

/** The option that this word names, if it takes its value from the next word. */
function valueOption(command: Command, word: string): Option | undefined {
  const option = command.options.find(({ short, long }) => word === short || word === long);
  return option?.required === true ? option : undefined;
}

function optionsOf(command: Command): Candidate[] {
  const options = command.options.flatMap(({ long, hidden, description }) =>
    long == null || hidden ? [] : [{ text: long, about: description }],
  );
  return [...options, { text: '--help', about: 'display help for command' }];
}

async function valuesOf(option: Option, context: Context): Promise<readonly Candidate[]> {
  const name = option.attributeName();
  if (name === 'lane') return lanesOf(context);
  if (name === 'zone') return Intl.supportedValuesOf('timeZone').map((text) => ({ text, about: '' }));
  if (FILE_OPTIONS.has(name)) return [{ text: FILES, about: '' }];
  const shown = /<([a-z]+(?:\|[a-z]+)+)>/.exec(option.flags)?.[1]?.split('|') ?? [];
  return (VALUES[name] ?? shown).map((text) => ({ text, about: '' }));
}

async function argumentsOf(
  command: Command,
  position: number,
  context: Context,
): Promise<readonly Candidate[]> {
  const parent = command.parent?.name() ?? '';
  switch (command.registeredArguments[position]?.name()) {
    case 'file':
      return [{ text: FILES, about: '' }];
    case 'shell':
      return Object.keys(SCRIPTS).map((text) => ({ text, about: '' }));
    case 'name':
      return parent === 'lane' ? lanesOf(context) : [];
    case 'schedule':
      return schedulesOf(context);
    case 'id':
      return parent === 'volley' ? campaignsOf(context) : [{ text: LAST, about: 'the newest one' }];
    default:
      return [];
  }
}

function lanesOf({ cwd, env }: Context): Candidate[] {
  return loadLocalConfig(loadDotEnv(cwd, env)).lanes.map(({ name }) => ({ text: name, about: '' }));
}

async function campaignsOf(context: Context): Promise<readonly Candidate[]> {
  const listed = withLocalVolley(context, (volley) => volley.list({ limit: IDS_SHOWN }));
  const campaigns = await within(IDS_WITHIN_MS, listed, { late: 'no answer' }).catch(() => []);
  return [
    { text: LAST, about: 'the newest campaign' },
    ...campaigns.map(({ id, name, state }) => ({ text: id, about: `${cut(oneLine(name), 30)}, ${state}` })),
  ];
}

async function schedulesOf(context: Context): Promise<readonly Candidate[]> {
  const listed = withLocalVolley(context, (volley) => volley.schedules.list());
  const schedules = await within(IDS_WITHIN_MS, listed, { late: 'no answer' }).catch(() => []);
  return schedules.map(({ id, cron, zone, state }) => ({
    text: id,
    about: `${cron ?? 'once'} ${zone}, ${state}`,
  }));
}

function firstSentence(text: string): string {
  return text.split('. ')[0]?.replace(/\.$/, '') ?? '';
}

import type { Volley } from '../../../src/app/volley.js';
import { USAGE_OUTCOMES } from '../../../src/engine/lane/usage.js';

/**
 * How the usage differs from what became of all campaigns, which have texts of one segment: every accepted message counts once, and so does
 * every final state.
 */
export async function usageProblems(volley: Volley): Promise<string[]> {
  const days = await volley.usage();
  const sum = (of: (day: (typeof days)[number]) => number): number =>
    days.reduce((total, day) => total + of(day), 0);
  const campaigns: { readonly counts: Readonly<Record<string, number>> }[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await volley.page({ limit: 200, cursor });
    campaigns.push(...page.campaigns.map(({ counts }) => ({ counts: { ...counts } })));
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  const count = (...states: readonly string[]): number =>
    campaigns.reduce(
      (total, { counts }) => states.reduce((all, state) => all + (counts[state] ?? 0), total),
      0,
    );
  const accepted = count('deliveredToNetwork', 'deliveredToTerminal', 'deliveryImpossible', 'unconfirmed');
  const found = [
    ['messages', sum(({ messageCount }) => messageCount), accepted],
    ['segments', sum(({ segmentCount }) => segmentCount), accepted],
    ...USAGE_OUTCOMES.map((state) => [state, sum(({ outcomes }) => outcomes[state]), count(state)] as const),
  ] as const;
  return found.flatMap(([what, counted, wanted]) =>
    counted === wanted ? [] : [`the usage counts ${counted} ${what}, and the campaigns have ${wanted}`],
  );
}

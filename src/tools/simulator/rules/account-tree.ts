/** What an option says about one account; see the option `accounts`. */
interface Listed {
  readonly username?: string | undefined;
  readonly accountId?: string | undefined;
  readonly parent?: string | undefined;
  readonly targetAccountIds?: readonly string[] | undefined;
}

/** The id of an account: its own, or the name of its user. */
export function idOf({ accountId, username }: Listed): string {
  return accountId ?? username ?? '';
}

/** Accounts and their child accounts, to any depth. */
export class AccountTree {
  readonly #parents = new Map<string, string | undefined>();

  constructor(accounts: readonly Listed[]) {
    for (const account of accounts) {
      for (const child of account.targetAccountIds ?? []) this.#parents.set(child, idOf(account));
    }
    for (const account of accounts) {
      const id = idOf(account);
      if (account.parent !== undefined || !this.#parents.has(id)) this.#parents.set(id, account.parent);
    }
  }

  has(id: string): boolean {
    return this.#parents.has(id);
  }

  /** Whether the account is a child of the other, at any level. Ends even if the parents form a circle. */
  isBelow(id: string, ancestor: string): boolean {
    const seen = new Set<string>();
    for (let parent = this.#parents.get(id); parent !== undefined; parent = this.#parents.get(parent)) {
      if (parent === ancestor) return true;
      if (seen.has(parent)) return false;
      seen.add(parent);
    }
    return false;
  }

  /** What is wrong with an account of the options; undefined if nothing is. */
  problemOf(account: Listed): string | undefined {
    const id = idOf(account);
    if (account.parent !== undefined && !this.has(account.parent))
      return `parent ${account.parent} is no account`;
    return this.isBelow(id, id) ? `${id} is its own parent` : undefined;
  }
}

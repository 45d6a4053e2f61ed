/** One access to an account. */
export interface Activity {
  readonly at: number;
  /** The account whose log contains it. */
  readonly account: string;
  readonly action: 'login' | 'refresh';
  /** The user who logged in, and the account of that user: the same account, or a reseller above it. */
  readonly byUser: string;
  readonly byAccount: string;
}

/** The activity logs of all accounts: every login and refresh (interface page, Authentication, rule 5). */
export class ActivityLog {
  #all: Activity[] = [];

  record(activity: Activity): void {
    this.#all.push(activity);
  }

  /** The log of an account, or of all accounts, oldest first. */
  entries(account?: string): Activity[] {
    return this.#all.filter((activity) => account === undefined || activity.account === account);
  }

  clear(): void {
    this.#all = [];
  }
}

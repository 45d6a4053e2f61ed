/** Which schedules or outboxes are meant: an id or a name is unique on its lane. */
export interface LaneFilter {
  /** Those of these lanes; default: of all. */
  readonly lanes?: readonly string[] | undefined;
}

/** Which page of them to list. */
export interface PageOptions extends LaneFilter {
  /** 1 to 200; default: 50. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** The form of a campaign's id: eight letters of time, or nine from the year 2059 on, and five of chance. */
export const CAMPAIGN_ID = /^[0-9a-z]{13,14}$/;

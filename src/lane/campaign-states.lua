--[[
  campaign-states: the states of a campaign, the allowed moves, and commands, from campaign/campaign.ts.
  Generated: change the table in TypeScript and run `npm run generate:lua`.
]]
local CAMPAIGN_MOVES = {
  importing = { scheduled = true, running = true, completed = true },
  scheduled = { running = true, paused = true, cancelled = true, completed = true },
  running = { paused = true, cancelled = true, completed = true },
  paused = { scheduled = true, running = true, cancelled = true, completed = true },
  cancelled = {},
  completed = {},
}
local CAMPAIGN_COMMANDS = {
  importing = {},
  scheduled = { pause = true, resume = true, cancel = true },
  running = { pause = true, resume = true, cancel = true },
  paused = { pause = true, resume = true, cancel = true },
  cancelled = { cancel = true },
  completed = {},
}

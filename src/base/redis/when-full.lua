--[[
  when-full: a script that must also run when Redis has reached `maxmemory` calls this first. Redis refuses the first write of a script
  if it needs memory, and no later one, so that no script ends halfway (documented with EVAL, "memory limit"). PERSIST needs none, and
  changes nothing on a key that has no lifetime, which `key` must be. The flag `allow-oom` says the same, but needs Redis 7.
]]
local function run_when_full(key) redis.call('PERSIST', key) end

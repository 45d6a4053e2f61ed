--[[
  server: which server runs this script. Each process of a server has its own run id. A failover there and back ends at the process that
  a reader knew before, without what the other one had not copied yet: only the replication id tells, which changes when a replica is
  promoted. It changes for the first replica as well, without a loss; then there is no second id.
]]
local SERVER = {}

function SERVER.now()
  local replication = redis.call('INFO', 'replication')
  return {
    run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'),
    replication = replication,
    replicationId = string.match(replication, 'master_replid:(%x+)') or '',
    isPromoted = string.match(replication, 'master_replid2:(%x+)') ~= string.rep('0', 40),
  }
end

-- Whether the server is another one than that of these ids. The replication id is '' while no server is known.
function SERVER.is_other(server, run, replicationId)
  if run ~= server.run then return true end
  return server.isPromoted and replicationId ~= '' and replicationId ~= server.replicationId
end

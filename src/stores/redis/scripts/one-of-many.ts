/**
 * Lua: what a script does for each of many. What is wrong with the keys of one is mended, and it is done once more; where that
 * does not help, it is no reason to leave the others. What is wrong with the server is `fatal`, and the script ends with it.
 */
export const ONE_OF_MANY = /* lua */ `
local fatal

-- Returns what it returned, or nothing and what went wrong. \`again\`: all that could be mended was. Mends the message \`mk\`.
local function try(work, at, mk)
  local ok, answer = pcall(work, at)
  if ok then return answer end
  local function troubleIn(answer)
    local text = type(answer) == 'table' and answer.err or tostring(answer)
    -- Redis 6 says first where it was.
    text = string.gsub(text, '^@?user_script: ?%d+: ?%-?', '')
    local word = string.match(text, '^(%u+) ')
    if word and word ~= 'ERR' and word ~= 'WRONGTYPE' then fatal = redis.error_reply(text) end
    return word and text or 'ERR ' .. text
  end
  local trouble = troubleIn(answer)
  if fatal then return nil, trouble end
  local tools = healer()
  ok, answer = pcall(tools.mendPartition)
  if ok and mk then ok, answer = pcall(tools.heal, mk) end
  if ok then
    ok, answer = pcall(work, at, true)
    if ok then return answer end
  end
  return nil, troubleIn(answer)
end
`

/**
 * Lua: what a script does for each of many. What is wrong with the keys of one is no reason to leave the others; what is
 * wrong with the server is `fatal`, and the script ends with it.
 */
export const ONE_OF_MANY = /* lua */ `
local fatal

-- Returns what it returned, or nothing and what went wrong.
local function try(work, at)
  local ok, answer = pcall(work, at)
  if ok then return answer end
  local text = type(answer) == 'table' and answer.err or tostring(answer)
  -- Redis 6 says first where it was.
  text = string.gsub(text, '^@?user_script: ?%d+: ?%-?', '')
  local word = string.match(text, '^(%u+) ')
  if word and word ~= 'ERR' and word ~= 'WRONGTYPE' then fatal = redis.error_reply(text) end
  return nil, word and text or 'ERR ' .. text
end
`

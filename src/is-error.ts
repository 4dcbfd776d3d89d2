/**
 * Whether what was thrown is an error, of any realm: in a test of Jest, Node's own errors are of another one than this code. What
 * was thrown may be anything, and throw when it is asked.
 */
export function isError(thrown: unknown): thrown is Error {
  try {
    if (typeof thrown !== 'object') return false
    return thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]'
  } catch {
    return false
  }
}

/** What functions of users return: perhaps a promise, where nobody said that they may. */

/** Whether `await` would wait for it. Throws what a getter of it throws. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    'then' in value &&
    typeof value.then === 'function'
  )
}

/** Nobody waits for it: if it is a promise, that it rejects must not end the process. */
export function letReject(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  try {
    // Refuses all but real promises, of any realm, whatever methods of its own one may have.
    void Promise.prototype.then.call(value, undefined, () => {})
  } catch {
    // It is none.
  }
}

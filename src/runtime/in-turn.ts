/** Runs tasks one after another, in the order of the calls. A failed task does not stop the next. */
export function inTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const run = last.then(work)
    last = run.catch(() => {})
    return run
  }
}

/** Listeners of one notification: a part can notify a part that is built after it. */
interface Listeners<T> {
  /** Returns a function that removes the listener. */
  readonly add: (listener: (value: T) => void) => () => void
  readonly notify: (value: T) => void
  readonly clear: () => void
}

export function createListeners<T = void>(): Listeners<T> {
  const listeners = new Set<(value: T) => void>()
  return {
    add(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    notify(value) {
      for (const listener of listeners) listener(value)
    },
    clear: () => listeners.clear(),
  }
}

/** Goes on with an answer now or later: a store in memory answers at once, and its hot path has no promise in it. */
import type { Awaitable } from '../store.ts'

export function andThen<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

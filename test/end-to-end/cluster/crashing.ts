/** A process that kills itself at one moment in the life of an event, through hooks that every app can pass to a receiver. */
import type { Store } from '../../../src/index.ts'

/** The moments at which it may end. */
export const CRASH_POINTS = [
  'after-read',
  'after-verify',
  'in-batch',
  'after-commit-before-answer',
  'after-claim',
  'in-handler',
  'after-handler-before-settle',
  'after-settle',
] as const

type CrashPoint = (typeof CRASH_POINTS)[number]

/** The process ends itself when it reaches this point `passes` times. */
export interface Crash {
  readonly point: CrashPoint
  readonly passes: number
}

/** Blocks this thread, which would answer, while the store's thread continues for a moment. */
function holdUp(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

export function createCrash(crash: Crash | undefined, write: (line: string) => void) {
  let passes = 0

  function pass(point: CrashPoint): void {
    if (point !== crash?.point || (passes += 1) < crash.passes) return
    write(`at ${point}`)
    process.kill(process.pid, 'SIGKILL')
  }

  async function admitted<T>(events: readonly unknown[], admitting: T | Promise<T>): Promise<T> {
    if (events.length > 1 && crash?.point === 'in-batch' && passes + 1 >= crash.passes) holdUp(Math.random() * 3)
    if (events.length > 1) pass('in-batch')
    const result = await admitting
    pass('after-commit-before-answer')
    return result
  }

  /** The store, with a crash point at each call. */
  function around(inner: Store): Store {
    if (crash === undefined) return inner
    return {
      ...inner,
      async open(host) {
        const store = await inner.open(host)
        const { admitAndClaim } = store
        return {
          ...store,
          admit: (events, nowMs) => admitted(events, store.admit(events, nowMs)),
          ...(admitAndClaim && {
            async admitAndClaim(events, request) {
              const result = await admitted(events, admitAndClaim(events, request))
              if (result.claims.length > 0) pass('after-claim')
              return result
            },
          }),
          async claim(request) {
            const result = await store.claim(request)
            if (result.claims.length > 0) pass('after-claim')
            return result
          },
          async settle(settlements, nowMs, deferrable) {
            pass('after-handler-before-settle')
            const held = await store.settle(settlements, nowMs, deferrable)
            pass('after-settle')
            return held
          },
        }
      },
    }
  }

  return { pass, around }
}

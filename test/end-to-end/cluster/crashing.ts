/** A process that kills itself at one moment in the life of an event, through hooks that every app can pass to a receiver. */
import type { Store } from '../../../src/index.ts'
import type { AnswerOf, Command } from '../../../src/store.ts'
import { storeAround } from '../../support/store-around.ts'

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

  /** The store, with a crash point at each call. */
  function around(inner: Store): Store {
    if (crash === undefined) return inner
    return storeAround(inner, {
      async run(commands, go) {
        const [first] = commands
        if (first?.do === 'settle') pass('after-handler-before-settle')
        const answering = go()
        if (first?.do === 'admit' && commands.length > 1) {
          if (crash.point === 'in-batch' && passes + 1 >= crash.passes) holdUp(Math.random() * 3)
          pass('in-batch')
        }
        const answers = await answering
        if (first?.do === 'admit') pass('after-commit-before-answer')
        if (answers.some(hasLease)) pass('after-claim')
        if (first?.do === 'settle') pass('after-settle')
        return answers
      },
    })
  }

  return { pass, around }
}

function hasLease(answer: AnswerOf<Command>): boolean {
  if (typeof answer !== 'object') return false
  return 'token' in answer || ('granted' in answer && answer.granted !== undefined)
}

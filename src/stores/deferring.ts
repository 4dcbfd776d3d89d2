/** Sends deferred commands with the next call: each call costs a server more than a few commands. */
import type { AnswerOf, Command } from '../messages/commands.ts'
import type { MessageStore } from '../inbox/store.ts'
import { systemClock } from '../runtime/clock.ts'

type Run = <C extends Command>(commands: readonly C[]) => Promise<readonly AnswerOf<C>[]>

/** How long deferred commands wait for a call to go with. */
const DEFER_MS = 5
/** The system clock: nothing here waits for a test clock. */
const clock = systemClock()

interface Deferred {
  readonly commands: readonly Command[]
  readonly resolve: (answers: readonly AnswerOf<Command>[]) => void
  readonly reject: (error: unknown) => void
}

/** `runNow` answers in the order of the commands. */
export function deferring(runNow: Run): MessageStore['run'] {
  let waiting: Deferred[] = []
  let cancelTimer: (() => void) | undefined

  async function runAll<C extends Command>(commands: readonly C[]): Promise<readonly AnswerOf<C>[]> {
    cancelTimer?.()
    cancelTimer = undefined
    const before = waiting
    waiting = []
    try {
      const answers = await runNow<C | Command>([...before.flatMap((each) => each.commands), ...commands])
      let end = 0
      for (const each of before) each.resolve(answers.slice(end, (end += each.commands.length)))
      // The answers to `commands`.
      return answers.slice(end) as readonly AnswerOf<C>[]
    } catch (error) {
      for (const { reject } of before) reject(error)
      throw error
    }
  }

  function defer(commands: readonly Command[]): Promise<readonly AnswerOf<Command>[]> {
    // Keeps the process alive, because `close` waits for these commands.
    cancelTimer ??= clock.setTimer(() => void runAll([]).catch(() => {}), DEFER_MS, true)
    return new Promise((resolve, reject) => {
      waiting.push({ commands, resolve, reject })
    })
  }

  return async <C extends Command>(commands: readonly C[], deferrable = false) => {
    if (deferrable) return (await defer(commands)) as readonly AnswerOf<C>[]
    return waiting.length === 0 ? runNow(commands) : runAll(commands)
  }
}

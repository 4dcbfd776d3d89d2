/** Applies decisions to a store: reads a record, decides, and writes the next one. */
import type { Decision, MessageRecord } from '../../messages/record.ts'
import type { LocalStore } from '../record-store.ts'
import type { Awaitable, NewEvent } from '../store.ts'

/** A decision about one record. */
export interface Command<A> {
  readonly key: string
  readonly decide: (record: MessageRecord | undefined) => Decision<A>
  /** The event that it admits, where it changes the record; and its answer where the store has no room for that. */
  readonly admits?: { readonly event: NewEvent; readonly full: A }
}

export interface Runner {
  /** The answers, in the order of the commands. Commands of one key are applied in their order. */
  run<A>(commands: readonly Command<A>[]): Awaitable<readonly A[]>
  /** Removes those of these records of which `isGone` still says that nothing has to be kept. */
  remove(keys: readonly string[], isGone: (record: MessageRecord) => boolean): Awaitable<void>
}

export function createLocalRunner(store: LocalStore): Runner {
  function runOne<A>({ key, decide, admits }: Command<A>): A {
    const before = store.read(key)
    const { answer, record, payloads } = decide(before)
    if (record === undefined) return answer
    const isAdmitted = admits !== undefined && record.waiting.length > (before?.waiting.length ?? 0)
    if (isAdmitted && !store.hasRoom(admits.event)) return admits.full
    store.write({ key, before, after: record, payloads, admitted: isAdmitted ? admits.event : undefined })
    return answer
  }

  return {
    run: (commands) => commands.map(runOne),
    remove(keys, isGone) {
      for (const key of keys) {
        const before = store.read(key)
        if (before !== undefined && isGone(before))
          store.write({ key, before, after: undefined, payloads: [], admitted: undefined })
      }
    },
  }
}

/** One message and a sequence of commands for it. */
import { expect } from 'vitest'
import type { Admission, AnswerOf, Circumstances, Command, Granted, Outcome } from '../../src/messages/commands.ts'
import { decide } from '../../src/messages/decide.ts'
import type { NewEvent } from '../../src/messages/event-record.ts'
import type { MessageRecord, PayloadChange } from '../../src/messages/record.ts'
import { NOW_MS, report, RETENTION } from './records.ts'

export const LEASE_MS = 1_000
export const KEY = 'm'

/** Decisions get frozen data. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value) && !ArrayBuffer.isView(value)) {
    Object.freeze(value)
    for (const each of Object.values(value)) frozen(each)
  }
  return value
}

/** A message to which one command is applied after another. Unless it says otherwise, all at `NOW_MS`. */
export function message(start?: MessageRecord | null) {
  let record = start ?? undefined
  let payloads: readonly PayloadChange[] = []
  function apply<C extends Command>(command: C, nowMs = NOW_MS, more: Partial<Circumstances> = {}): AnswerOf<C> {
    const about = {
      nowMs,
      trustedMs: nowMs,
      worker: 'w',
      retention: RETENTION,
      isFull: false,
      kept: [],
      payload: undefined,
    }
    const decided = decide(frozen(record), command, { ...about, ...more })
    if (decided.record !== undefined) record = decided.record ?? undefined
    payloads = decided.payloads ?? []
    return decided.answer
  }
  const one = {
    get record() {
      return record
    },
    /** What the last command changed of the payloads. */
    get payloads() {
      return payloads
    },
    apply,
    admit: (at: number, more: Partial<NewEvent> = {}, nowMs = NOW_MS): Admission =>
      apply({ do: 'admit', key: KEY, event: report(at, more) }, nowMs).admission,
    lease: (nowMs = NOW_MS, worker = 'w'): Granted | undefined =>
      apply({ do: 'lease', key: KEY, forMs: LEASE_MS }, nowMs, { worker }),
    /** Leases what is due. */
    granted(nowMs = NOW_MS): Granted {
      const granted = one.lease(nowMs)
      if (granted === undefined) throw new Error('Nothing was due.')
      return granted
    },
    /** Whether the token was that of the last attempt. */
    settle: ({ id, token }: Pick<Granted, 'id' | 'token'>, outcome: Outcome, nowMs = NOW_MS): boolean =>
      apply({ do: 'settle', key: KEY, id, token, ...outcome }, nowMs).held,
    done: (id: string, token: number): boolean => one.settle({ id, token }, { outcome: 'done' }),
    die(nowMs = NOW_MS): string {
      const granted = one.granted(nowMs)
      expect(one.settle(granted, { outcome: 'dead', error: 'no' }, nowMs)).toBe(true)
      return granted.id
    },
    resolve: (id: string, as: 'replay' | 'force' | 'discard', nowMs = NOW_MS): boolean =>
      apply({ do: 'resolve', key: KEY, id, as }, nowMs),
  }
  return one
}

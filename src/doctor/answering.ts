/**
 * The receiver's side: answers probes whose sender is proved. It is asked after the proof alone, so whoever does not hold the
 * pair is answered as any forger is, and by the same code.
 */
import { LRUCache } from 'lru-cache'
import type { ReadBody } from '../authenticity/body.ts'
import type { Pairs } from '../authenticity/credentials.ts'
import type { NotProved } from '../authenticity/explain.ts'
import type { ArrivedCallback } from '../callback.ts'
import type { RefusalCode } from '../error-table.ts'
import type { CallbackKind, Proof } from '../events.ts'
import { REPLIES, type Answer } from '../http/replies.ts'
import { arrivalOf, type AppFacts, type Arrival } from './facts.ts'
import { markIn, markingKey, readMark } from './mark.ts'
import { ANSWER_HEADER, seal } from './seal.ts'

/** Why a probe was refused in this process. */
export interface RefusedProbe {
  readonly code: RefusalCode
  readonly offsetSeconds: number | undefined
  readonly arrival: Arrival
}

/** Sees what becomes of probes that this process sends itself. */
export interface ProbeWatch {
  expect(messageId: string): void
  /** Undefined where it was not refused here: perhaps another process has answered. */
  refused(messageId: string): RefusedProbe | undefined
  end(): void
}

interface ProvedProbe {
  readonly callback: ArrivedCallback
  readonly body: ReadBody
  readonly proof: Exclude<Proof, 'none'>
  readonly pairs: Pairs
}

export interface Probes {
  /** Undefined where it is to be refused as a forgery is: the mark is wrong, too old, or was used before. */
  answer(probe: ProvedProbe): Promise<Answer | undefined>
  /** Something was not proved. Remembers why, where it is a probe of this process. */
  notProved(callback: ArrivedCallback, body: ReadBody, why: NotProved): void
  watch(): ProbeWatch
}

interface AnsweringOptions {
  readonly toleranceSeconds: number
  readonly maxBodyBytes: number
  readonly about: (kind: CallbackKind | undefined) => Promise<AppFacts>
}

/**
 * A mark is good for a day before and after its time: the clocks are what the doctor wants to compare, and they may be hours
 * apart. The signature's own time has its tolerance all the same.
 */
const MARK_MS = 86_400_000
/** Only holders of the pair make marks, so nobody else can push one out. */
const MARKS_KEPT = 4_096

export function createProbes({ toleranceSeconds, maxBodyBytes, about }: AnsweringOptions): Probes {
  const used = new LRUCache<string, true>({ max: MARKS_KEPT })
  /** Of this process's own doctors; no other probe is looked at before its proof. */
  const expected = new Map<string, RefusedProbe | undefined>()

  return {
    async answer({ callback, body, proof, pairs }) {
      const messageId = body.fields === undefined ? undefined : markIn(body.fields)
      if (messageId === undefined || typeof pairs === 'string') return undefined
      const { arrivedAtMs, kind, policy } = callback
      for (const pair of pairs) {
        if (arrivedAtMs > pair.notAfterMs) continue
        const key = markingKey(pair)
        const mark = readMark(messageId, key)
        if (mark === undefined) continue
        if (Math.abs(arrivedAtMs - mark.sentAtMs) > MARK_MS || used.has(mark.nonce)) return undefined
        used.set(mark.nonce, true)
        const facts = {
          arrival: arrivalOf(callback, body),
          arrivedAtMs,
          ...(kind === undefined ? {} : { kind }),
          policy,
          proof,
          pair: {
            hasAuthKey: pair.authKey !== undefined,
            hasSecret: pair.secretKey !== undefined,
            ...(pair.notAfterMs === Infinity ? {} : { endsAtMs: pair.notAfterMs }),
          },
          toleranceSeconds,
          maxBodyBytes,
          app: await about(kind),
        }
        return { ...REPLIES.taken, headers: { [ANSWER_HEADER]: seal(facts, key, messageId) } }
      }
      return undefined
    },
    notProved(callback, body, { code, offsetSeconds }) {
      if (expected.size === 0 || body.fields === undefined) return
      const messageId = markIn(body.fields)
      if (messageId === undefined || !expected.has(messageId)) return
      expected.set(messageId, { code, offsetSeconds, arrival: arrivalOf(callback, body) })
    },
    watch() {
      const own: string[] = []
      return {
        expect(messageId) {
          own.push(messageId)
          expected.set(messageId, undefined)
        },
        refused: (messageId) => expected.get(messageId),
        end() {
          for (const messageId of own) expected.delete(messageId)
        },
      }
    },
  }
}

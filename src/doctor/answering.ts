/**
 * The receiver's side: answers probes whose sender is proved. It is asked after the proof alone, so whoever does not hold the
 * pair is answered as any forger is, and by the same code.
 */
import type { KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { ReadBody } from '../authenticity/body.ts'
import type { Pairs } from '../authenticity/credentials.ts'
import type { NotProved } from '../authenticity/explain.ts'
import type { LivePair } from '../authenticity/pair.ts'
import type { ArrivedCallback } from '../callback.ts'
import type { RefusalCode } from '../error-table.ts'
import type { CallbackKind, Proof } from '../events.ts'
import { REPLIES, type Answer } from '../http/replies.ts'
import { arrivalOf, type AppFacts, type Arrival, type Report } from './facts.ts'
import { markingKeys, readMark, type Mark } from './mark.ts'
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

/** Which pair marked a probe, and with which of its keys. */
export interface MarkedProbe {
  readonly probeId: string
  readonly mark: Mark
  readonly pair: LivePair
  readonly key: KeyObject
  /** The key is the pair's first: the sender holds the whole pair. */
  readonly isWhole: boolean
}

interface ProvedProbe {
  readonly callback: ArrivedCallback
  readonly body: ReadBody
  readonly proof: Exclude<Proof, 'none'>
  readonly marked: MarkedProbe
}

export interface Probes {
  /** Undefined if none of the pairs that are live has marked it: then it is a callback, whatever its message id looks like. */
  markOf(body: ReadBody, pairs: Pairs, arrivedAtMs: number): MarkedProbe | undefined
  /** Undefined if the mark is too old or was used before: then it is refused as a forgery is. */
  answer(probe: ProvedProbe): Promise<Answer | undefined>
  /**
   * Something was not proved. Remembers why, if it is a probe of this process. False if it is not worth a line of the log: a
   * doctor with another pair sends dozens of probes, and the first shows the reason.
   */
  notProved(callback: ArrivedCallback, body: ReadBody, why: NotProved): boolean
  watch(): ProbeWatch
}

interface AnsweringOptions {
  /** Callbacks are proved by the pairs of the project that they name. */
  readonly byProject: boolean
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
/** At most one unproved probe is reported in such a time. */
const REPORT_MS = 60_000

export function createProbes({ byProject, toleranceSeconds, maxBodyBytes, about }: AnsweringOptions): Probes {
  const used = new LRUCache<string, true>({ max: MARKS_KEPT })
  /** Of this process's own doctors; no other probe is looked at before its proof. */
  const expected = new Map<string, RefusedProbe | undefined>()
  let reportedAtMs = -Infinity

  return {
    markOf({ probeId }, pairs, arrivedAtMs) {
      if (probeId === undefined || typeof pairs === 'string') return undefined
      const live = pairs.filter(({ notAfterMs }) => arrivedAtMs <= notAfterMs)
      for (const nth of [0, 1]) {
        for (const pair of live) {
          const key = markingKeys(pair)[nth]
          const mark = key && readMark(probeId, key)
          if (key !== undefined && mark !== undefined) return { probeId, mark, pair, key, isWhole: nth === 0 }
        }
      }
      return undefined
    },
    async answer({ callback, body, proof, marked: { probeId, mark, pair, key, isWhole } }) {
      const { arrivedAtMs, kind, policy } = callback
      // Anyone who has read a callback can have this answer as often as they like, so the nonce is not spent on it.
      if (!isWhole) return answerWith({ onlyAuthKey: true }, key, probeId)
      if (Math.abs(arrivedAtMs - mark.sentAtMs) > MARK_MS || used.has(mark.nonce)) return undefined
      used.set(mark.nonce, true)
      const facts = {
        arrival: arrivalOf(callback, body),
        arrivedAtMs,
        ...(kind === undefined ? {} : { kind }),
        lacksProject: byProject && body.project === undefined,
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
      return answerWith(facts, key, probeId)
    },
    notProved(callback, body, { code, offsetSeconds }) {
      const { probeId } = body
      if (probeId === undefined) return true
      if (expected.has(probeId)) expected.set(probeId, { code, offsetSeconds, arrival: arrivalOf(callback, body) })
      if (Math.abs(callback.arrivedAtMs - reportedAtMs) < REPORT_MS) return false
      reportedAtMs = callback.arrivedAtMs
      return true
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

function answerWith(report: Report, key: KeyObject, probeId: string): Answer {
  return { ...REPLIES.taken, headers: { [ANSWER_HEADER]: seal(report, key, probeId) } }
}

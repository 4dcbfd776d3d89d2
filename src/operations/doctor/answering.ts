/** The receiver's side: answers proved probes. The code that refuses a forgery also refuses an unproved probe. */
import type { KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { ReadBody } from '../../verify/body.ts'
import type { Pairs } from '../../verify/credentials.ts'
import type { NotProved } from '../../verify/explain.ts'
import type { LivePair } from '../../verify/pair.ts'
import type { ArrivedCallback } from '../../public/callback.ts'
import type { RefusalCode } from '../../public/error-table.ts'
import type { EventProof } from '../../public/events.ts'
import { ANSWER_HEADER, arrivalOf, markingKeys, readMark, seal, type Arrival, type Mark } from './protocol.ts'

/** Why a probe was refused in this process. */
export interface RefusedProbe {
  readonly code: RefusalCode
  readonly offsetSeconds: number | undefined
  readonly arrival: Arrival
}

/** A probe with the pair that marked it, and the key used. */
export interface MarkedProbe {
  readonly probeId: string
  readonly mark: Mark
  readonly pair: LivePair
  readonly key: KeyObject
  /** Whether the key is the first of the pair. Its holder has the whole pair. */
  readonly isWhole: boolean
}

interface ProvedProbe {
  readonly callback: ArrivedCallback
  readonly body: ReadBody
  readonly proof: Exclude<EventProof, 'none'>
  readonly marked: MarkedProbe
}

export type Probes = ReturnType<typeof createProbes>

interface AnsweringOptions {
  /** The project name in the body selects the pairs. */
  readonly byProject: boolean
  readonly toleranceSeconds: number
  readonly maxBodyBytes: number
}

/** A mark is valid this long before and after its time, because clocks may be hours apart. The signature has its own tolerance. */
const MARK_MS = 86_400_000
/** Only holders of a pair can create marks, so no one else can evict one. */
const MARKS_KEPT = 4_096
/** At most one unproved probe is reported in this time. */
const REPORT_MS = 60_000

export function createProbes({ byProject, toleranceSeconds, maxBodyBytes }: AnsweringOptions) {
  const used = new LRUCache<string, true>({ max: MARKS_KEPT })
  /** Probes of the doctors in this process. */
  const expected = new Map<string, RefusedProbe | undefined>()
  let reportedAtMs = -Infinity

  return {
    /** Undefined if no live pair has marked the callback: then it is not a probe, whatever its message id looks like. */
    markOf(probeId: string, pairs: Pairs, arrivedAtMs: number): MarkedProbe | undefined {
      if (typeof pairs === 'string') return undefined
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
    /** The headers of the 204. Undefined if the mark is too old or was used before: the probe is then refused like a forgery. */
    answer({ callback, body, proof, marked }: ProvedProbe): Readonly<Record<string, string>> | undefined {
      const { probeId, mark, pair, key, isWhole } = marked
      const { arrivedAtMs, kind } = callback
      // Anyone who has read a callback may get this answer repeatedly, so it does not use up the nonce.
      if (!isWhole) return { [ANSWER_HEADER]: seal({ onlyAuthKey: true }, key, probeId) }
      if (Math.abs(arrivedAtMs - mark.sentAtMs) > MARK_MS || used.has(mark.nonce)) return undefined
      used.set(mark.nonce, true)
      const facts = {
        ...{ arrival: arrivalOf(callback, body), arrivedAtMs, kind, proof, toleranceSeconds, maxBodyBytes },
        lacksProject: byProject && body.project === undefined,
        pair: {
          hasAuthKey: pair.authKey !== undefined,
          hasSecret: pair.secretKey !== undefined,
          endsAtMs: pair.notAfterMs === Infinity ? undefined : pair.notAfterMs,
        },
      }
      return { [ANSWER_HEADER]: seal(facts, key, probeId) }
    },
    /**
     * Remembers why a probe of this process was refused. Returns whether to log the refusal: at most once a minute for probes of
     * a doctor with another pair.
     */
    notProved(callback: ArrivedCallback, body: ReadBody, { code, offsetSeconds }: NotProved): boolean {
      const { probeId } = body
      if (probeId === undefined) return true
      if (expected.has(probeId)) expected.set(probeId, { code, offsetSeconds, arrival: arrivalOf(callback, body) })
      if (Math.abs(callback.arrivedAtMs - reportedAtMs) < REPORT_MS) return false
      reportedAtMs = callback.arrivedAtMs
      return true
    },
    /** Announces a probe of this process. Call the result once: it returns why this process refused the probe, if it did. */
    expect(probeId: string): () => RefusedProbe | undefined {
      expected.set(probeId, undefined)
      return () => {
        const refused = expected.get(probeId)
        expected.delete(probeId)
        return refused
      }
    },
  }
}

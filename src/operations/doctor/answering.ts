/** The receiver's side: answers proved probes, and records how those of this process arrived. */
import type { KeyObject } from 'node:crypto'
import type { ReadBody } from '../../verify/body.ts'
import type { Proved } from '../../verify/authenticate.ts'
import type { NotProved } from '../../verify/explain.ts'
import type { LivePair } from '../../verify/pair.ts'
import type { ArrivedCallback } from '../../public/callback.ts'
import { ANSWER_HEADER, isMarkedWith, markingKeys, writeAnswer, type Observation } from './protocol.ts'

/** How a probe arrived in this process. */
export interface SeenProbe {
  /** Undefined if it was proved. */
  readonly refused: NotProved | undefined
  readonly isParsed: boolean
  readonly bytes: Buffer
  readonly signatures: readonly string[]
}

export type Probes = ReturnType<typeof createProbes>

export function createProbes() {
  /** Probes of the doctors in this process. */
  const expected = new Map<string, SeenProbe | undefined>()

  function see(
    { captured, signatures }: ArrivedCallback,
    { probeId = '', bytes }: ReadBody,
    refused?: NotProved,
  ): void {
    if (expected.has(probeId))
      expected.set(probeId, { refused, isParsed: captured.kind === 'parsed', bytes, signatures })
  }

  return {
    /** Headers of the 204. Undefined if no live pair marked the callback: then it is a callback, whatever its message id is. */
    answer(callback: ArrivedCallback, body: ReadBody, { pairs, proof }: Proved): Record<string, string> | undefined {
      const { probeId } = body
      const marked = probeId === undefined ? undefined : findMark(probeId, pairs, callback.arrivedAtMs)
      if (probeId === undefined || marked === undefined) return undefined
      see(callback, body)
      const observation = callback.captured.kind === 'parsed' ? 'parsed' : observationOf(proof, marked.pair)
      return { [ANSWER_HEADER]: writeAnswer(probeId, marked.key, observation, callback.kind) }
    },
    refused: see,
    /** Announces a probe of this process. Call the result once: it returns how the probe arrived, if it did. */
    expect(probeId: string): () => SeenProbe | undefined {
      expected.set(probeId, undefined)
      return () => {
        const seen = expected.get(probeId)
        expected.delete(probeId)
        return seen
      }
    },
  }
}

/** The pair that marked a probe, and the key used: the first of its keys, if any pair allows that. */
function findMark(
  probeId: string,
  pairs: readonly LivePair[],
  nowMs: number,
): { readonly pair: LivePair; readonly key: KeyObject } | undefined {
  const live = pairs.filter(({ notAfterMs }) => nowMs <= notAfterMs)
  for (const nth of [0, 1])
    for (const pair of live) {
      const key = markingKeys(pair)[nth]
      if (key !== undefined && isMarkedWith(probeId, key)) return { pair, key }
    }
  return undefined
}

function observationOf(proof: Proved['proof'], { authKey, secretKey }: LivePair): Observation {
  if (proof === 'authKey') return secretKey === undefined ? 'unsigned' : 'signature_invalid'
  return proof === 'signature' && authKey !== undefined ? 'auth_key_invalid' : 'intact'
}

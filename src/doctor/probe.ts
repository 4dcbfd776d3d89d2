/** One probe: a body as the service might send it, signed as the service signs. What is odd about it is there to be lost on the way. */
import type { LivePair } from '../authenticity/pair.ts'
import { signCallback } from '../testing/sign.ts'
import { makeMark, markingKeys } from './mark.ts'

export type ProbePair = Pick<LivePair, 'authKey' | 'secretKey'>

/** What of a probe is not as usual. */
export interface ProbeForm {
  readonly pair?: ProbePair
  /** No signature header. */
  readonly unsigned?: true
  /** The signature is made over what a known change makes of the body: it holds where that is what happens on the way. */
  readonly signedOver?: (sent: Buffer) => Buffer
  /** JSON by default; parsers leave what they do not know alone. */
  readonly contentType?: string
  /** How far the signature's time is from now. */
  readonly offsetSeconds?: number
  /** Its JSON breaks off. Without a signature nothing of it can be proved. */
  readonly broken?: true
  /** The body is so long, in bytes. */
  readonly length?: number
}

export interface Probe {
  readonly messageId: string
  readonly pair: ProbePair
  readonly body: Buffer
  readonly signature: string | undefined
  readonly contentType: string
}

export function makeProbe({
  pair,
  project,
  form,
  nowMs,
}: {
  pair: ProbePair
  project: string | undefined
  form: ProbeForm
  nowMs: number
}): Probe {
  const { authKey, secretKey } = pair
  const messageId = makeMark(markingKeys(pair), nowMs)
  const timestamp = Math.floor(nowMs / 1_000) + (form.offsetSeconds ?? 0)
  const fields: readonly (readonly [name: string, json: string])[] = [
    ...(project === undefined ? [] : ([['project', JSON.stringify(project)]] as const)),
    ['messageId', JSON.stringify(messageId)],
    ['status', '"probe"'],
    // Whoever reads this and writes it anew leaves out what is not needed: the escapes, the zero, the blanks.
    ['note', String.raw`"A probe of messaging-webhooks\/doctor, caf\u00e9 and café"`],
    ['number', '1.0'],
    ...(authKey === undefined ? [] : ([['authKey', JSON.stringify(authKey.toString())]] as const)),
  ]
  const whole = padded(fields, form.length)
  const body = form.broken === true ? whole.subarray(0, -1) : whole
  const signed = form.signedOver?.(body) ?? body
  return {
    messageId,
    pair,
    body,
    signature:
      secretKey === undefined || form.unsigned === true || form.broken === true
        ? undefined
        : signCallback(signed, secretKey.export().toString('utf8'), { timestamp }),
    contentType: form.contentType ?? 'application/json',
  }
}

function padded(fields: readonly (readonly [name: string, json: string])[], length: number | undefined): Buffer {
  const write = (padding: string): Buffer =>
    Buffer.from(
      `{${[...fields, ['padding', `"${padding}"`]].map(([name, json]) => `"${name}" : ${json}`).join(' , ')}}`,
    )
  const least = write('')
  return length === undefined ? least : write('.'.repeat(Math.max(0, length - least.length)))
}

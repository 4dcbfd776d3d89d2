/** Recognises a key or secret that was configured in another form than the dashboard shows. No text quotes a secret or a body. */
import { createSecretKey, timingSafeEqual } from 'node:crypto'
import type { ArrivedCallback } from '../public/callback.ts'
import type { Clock } from '../runtime/clock.ts'
import { readSignatureHeader, signatureHolds, type ParsedSignature } from './authenticate.ts'
import type { ReadBody } from './body.ts'
import { MAX_PAIRS, type LivePair } from './credentials.ts'

/** Forms that the text itself shows. */
const FORMS: readonly (readonly [what: string, undo: (secret: string) => string])[] = [
  ['has white space at its start or end, such as the line end of a file', (text) => text.trim()],
  ['is in quotation marks', (text) => text.replace(/^(["'`])(.*)\1$/s, '$2').replace(/^“(.*)”$/s, '$1')],
  ['ends with a line end that is spelled out, such as `\\n`', (text) => text.replace(/\\[nr]$/, '')],
]

/** Texts that string interpolation makes of a value that is not there. */
const MISSING = /^(?:undefined|null|NaN|\[object \w+\])$/

/** Shorter texts look like Base64 by chance. */
const BASE64 = /^[\w+/-]{8,}={0,2}$/

/** Undoes visible mistakes until none is left. `mistakes` names each. */
function withoutMistakes(secret: string): { readonly text: string; readonly mistakes: readonly string[] } {
  let text = secret
  const mistakes = new Set<string>()
  for (let changed = true; changed;) {
    changed = false
    for (const [what, undo] of FORMS) {
      const undone = undo(text)
      if (undone === text) continue
      mistakes.add(what)
      text = undone
      changed = true
    }
  }
  return { text, mistakes: [...mistakes] }
}

/** What is wrong with a key or secret on the face of it: predicates, such as “is in quotation marks”. */
export function mistakesIn(secret: string): readonly string[] {
  const { text, mistakes } = withoutMistakes(secret)
  return MISSING.test(text) ? [...mistakes, 'is the text of a missing value, such as `undefined`'] : mistakes
}

interface OtherForm {
  readonly text: string
  readonly mistakes: readonly string[]
}

/** What the user may have meant. */
function otherForms(secret: string): readonly OtherForm[] {
  const { text, mistakes } = withoutMistakes(secret)
  // `echo … | base64` encodes a line end too.
  const decoded = BASE64.test(text) ? Buffer.from(text, 'base64').toString().trim() : ''
  const forms = [
    { text: mistakes.length === 0 ? '' : text, mistakes },
    { text: decoded, mistakes: [...mistakes, 'is in Base64'] },
  ]
  return forms.filter((form) => form.text !== '')
}

/** What a callback carries as its proofs. */
interface Proofs {
  readonly signature: ParsedSignature | undefined
  /** The `authKey` of the body. */
  readonly authKey: unknown
  readonly bytes: Buffer
}

/** The pair as its user wrote it. */
interface GivenPair {
  readonly authKey: string | undefined
  readonly signingSecret: string | undefined
}

/** Which mistakes in this pair explain why it does not prove the callback. Tries at most three digests. */
export function mistakesShownBy({ signature, authKey, bytes }: Proofs, pair: GivenPair): readonly string[] {
  const signs = (text: string): boolean =>
    signature !== undefined && signatureHolds(signature, createSecretKey(Buffer.from(text)), bytes)
  const isCarried = (text: string): boolean => typeof authKey === 'string' && isSame(text, authKey)
  const found: string[] = []
  if (pair.signingSecret !== undefined) {
    if (isCarried(pair.signingSecret)) found.push('Your signing secret is an Auth Key: the body carries it.')
    const meant = otherForms(pair.signingSecret).find(({ text }) => signs(text))
    if (meant !== undefined)
      found.push(`Your signing secret ${meant.mistakes.join(', and ')}. Corrected, it verifies this signature.`)
  }
  if (pair.authKey !== undefined) {
    if (signs(pair.authKey)) found.push('Your Auth Key is a signing secret: it verifies this signature.')
    const meant = otherForms(pair.authKey).find(({ text }) => isCarried(text))
    if (meant !== undefined)
      found.push(`Your Auth Key ${meant.mistakes.join(', and ')}. Corrected, it is the one in the body.`)
  }
  return found
}

/** Constant time, except for the length. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Every documented callback is smaller. */
const LONGEST_TRIED_BYTES = 8 * 1024
/** Forged requests cause at most ten trials a second, each of at most 48 digests over 8 KiB. */
const PAUSE_MS = 100

export type FindMistake = ReturnType<typeof createMistakeFinder>

/** For the log: explains that live pairs do not prove a callback by a mistake in them, if one was tried and found. */
export function createMistakeFinder(clock: Clock) {
  let lastMs = -Infinity
  return (
    { signatures, captured }: Pick<ArrivedCallback, 'signatures' | 'captured'>,
    { fields, bytes }: ReadBody,
    pairs: readonly LivePair[],
  ): string | undefined => {
    const nowMs = clock.now()
    if (bytes.length > LONGEST_TRIED_BYTES || Math.abs(nowMs - lastMs) < PAUSE_MS) return undefined
    lastMs = nowMs
    const header = captured.kind === 'exact' ? readSignatureHeader(signatures) : undefined
    const proofs = { signature: typeof header === 'object' ? header : undefined, authKey: fields?.['authKey'], bytes }
    for (const { authKey, secretKey } of pairs.slice(0, MAX_PAIRS)) {
      const given = { authKey: authKey?.toString(), signingSecret: secretKey?.export().toString() }
      const mistakes = mistakesShownBy(proofs, given)
      if (mistakes.length > 0) return mistakes.join(' ')
    }
    return undefined
  }
}

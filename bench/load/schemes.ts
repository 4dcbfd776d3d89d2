/**
 * Turns a report into a request, signed as each contender's sender signs it, or deliberately wrong. The signatures are computed
 * here and share no code with the contenders.
 */
import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { signCallback } from 'messaging-webhooks/testing'
import { AUTH_KEY, SIGNING_SECRET } from './secrets.ts'

type Report = Readonly<Record<string, unknown>>

interface Signed {
  readonly body: Buffer
  /** Headers in addition to those that every request has. */
  readonly headers: readonly string[]
}

/** All signature schemes. */
export const SCHEMES = {
  /** Our service: both proofs. */
  service: (report) => {
    const body = withKey(report, AUTH_KEY)
    return { body, headers: [signedHeader(body, SIGNING_SECRET)] }
  },
  'service-signature-only': (report) => {
    const body = bytesOf(report)
    return { body, headers: [signedHeader(body, SIGNING_SECRET)] }
  },
  'service-key-only': (report) => ({ body: withKey(report, AUTH_KEY), headers: [] }),
  'forged-digest': (report) => {
    const body = bytesOf(report)
    return { body, headers: [signedHeader(body, 'another secret')] }
  },
  'forged-key': (report) => ({ body: withKey(report, 'a key of the same length 0123456789!'), headers: [] }),
  'forged-garbage': (report) => ({ body: randomBytes(bytesOf(report).length), headers: [] }),
  'forged-unsigned': (report) => ({ body: bytesOf(report), headers: [] }),
  /** @octokit/webhooks: the digest of the body. */
  github: (report) => {
    const body = withKey(report, AUTH_KEY)
    return {
      body,
      headers: [
        'x-github-event: push',
        `x-github-delivery: ${randomUUID()}`,
        `x-hub-signature-256: sha256=${hmac(SIGNING_SECRET, body).toString('hex')}`,
      ],
    }
  },
  stripe: (report) => {
    const body = withKey(report, AUTH_KEY)
    const t = nowSeconds()
    return { body, headers: [`stripe-signature: t=${t},v1=${hmac(SIGNING_SECRET, `${t}.`, body).toString('hex')}`] }
  },
  svix: (report) => standardSigned(report, 'svix'),
  'standard-webhooks': (report) => standardSigned(report, 'webhook'),
  line: (report) => {
    const body = withKey(report, AUTH_KEY)
    return { body, headers: [`x-line-signature: ${hmac(SIGNING_SECRET, body).toString('base64')}`] }
  },
} as const satisfies Readonly<Record<string, (report: Report) => Signed>>

export type SchemeName = keyof typeof SCHEMES

/** Standard Webhooks, and svix under its own header names: id, time and body. */
function standardSigned(report: Report, prefix: 'svix' | 'webhook'): Signed {
  const body = withKey(report, AUTH_KEY)
  const id = `msg_${randomUUID()}`
  const t = nowSeconds()
  const digest = hmac(SIGNING_SECRET, `${id}.${t}.`, body).toString('base64')
  return { body, headers: [`${prefix}-id: ${id}`, `${prefix}-timestamp: ${t}`, `${prefix}-signature: v1,${digest}`] }
}

function signedHeader(body: Buffer, secret: string): string {
  return `x-service-signature: ${signCallback(body, secret)}`
}

function hmac(secret: string, ...parts: readonly (string | Buffer)[]): Buffer {
  const mac = createHmac('sha256', secret)
  for (const part of parts) mac.update(part)
  return mac.digest()
}

function withKey(report: Report, authKey: string): Buffer {
  return bytesOf({ ...report, authKey })
}

function bytesOf(value: object): Buffer {
  return Buffer.from(JSON.stringify(value))
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000)
}

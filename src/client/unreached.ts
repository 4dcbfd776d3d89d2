/**
 * Whether a failed request reached the service. `fetch` does not report its progress, so only errors of name resolution,
 * connection or certificates prove that it did not: they precede the first byte of a request. After any other error, the
 * request may have arrived.
 */

/** System calls of Node that precede a connection. */
const BEFORE: ReadonlySet<string> = new Set(['getaddrinfo', 'connect'])

/** Codes of Node, Bun and undici. Excludes codes that established connections also produce, such as ETIMEDOUT. */
const CODES: ReadonlySet<string> = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
])

/** Deno has no codes. Its message names the phase after the URL, which must not be quoted. */
const DENO_CONNECT = 'client error (Connect)'

/** Maximum depth of causes; a longer chain is circular. */
const DEEPEST = 5
const CODE_FORM = /^[A-Za-z][A-Za-z0-9_]{1,60}$/

interface Failure {
  readonly isUnreached: boolean
  /** The runtime's code or name. Never its message, which may quote the request. */
  readonly reason: string | undefined
}

/** Reads any value that `fetch` rejected with. */
export function readFailure(error: unknown): Failure {
  try {
    const chain = chainOf(error)
    const codes = chain.map((each) => wordOf(each, 'code')).filter((code) => code !== undefined)
    return {
      isUnreached: chain.some(isBefore),
      reason: codes[0] ?? (chain.some(isOfDeno) ? 'connect' : chain.map((each) => wordOf(each, 'name')).at(-1)),
    }
  } catch {
    // A getter or proxy of a custom `fetch` may throw.
    return { isUnreached: false, reason: undefined }
  }
}

function chainOf(error: unknown): readonly object[] {
  const chain: object[] = []
  let next = error
  while (typeof next === 'object' && next !== null && chain.length < DEEPEST) {
    chain.push(next)
    next = Reflect.get(next, 'cause')
  }
  return chain
}

function isBefore(error: object): boolean {
  // One error for each address that was tried.
  const tried: unknown = Reflect.get(error, 'errors')
  const all: readonly unknown[] = Array.isArray(tried) ? tried : []
  if (all.length > 0) return all.every((each) => typeof each === 'object' && each !== null && isBeforeAlone(each))
  return isBeforeAlone(error)
}

function isBeforeAlone(error: object): boolean {
  const syscall = wordOf(error, 'syscall')
  if (syscall !== undefined) return BEFORE.has(syscall)
  return CODES.has(wordOf(error, 'code') ?? '') || isOfDeno(error)
}

function isOfDeno(error: object): boolean {
  const message: unknown = Reflect.get(error, 'message')
  return typeof message === 'string' && message.includes(DENO_CONNECT)
}

function wordOf(error: object, field: 'code' | 'name' | 'syscall'): string | undefined {
  const value: unknown = Reflect.get(error, field)
  return typeof value === 'string' && CODE_FORM.test(value) ? value : undefined
}

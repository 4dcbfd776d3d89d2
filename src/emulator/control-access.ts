/**
 * Access to the control API: requests of this machine need no token, all others do. A web page in a browser on this machine and a
 * proxy count as others, so `Host`, `Origin` and the headers of proxies are checked.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { bearerOf } from './http.ts'

type Access = { readonly allowed: true } | { readonly allowed: false; readonly status: 401 | 403; readonly why: string }

const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip']

export function accessOf(request: IncomingMessage, token: string | undefined): Access {
  const given = bearerOf(request)
  if (given !== undefined && token !== undefined && isEqual(given, token)) return { allowed: true }
  const problem = whyTokenIsNeeded(request)
  if (problem === undefined) return { allowed: true }
  return token === undefined
    ? { allowed: false, status: 403, why: `${problem} Set a controlToken to allow it.` }
    : { allowed: false, status: 401, why: `${problem} Send the controlToken as a Bearer token.` }
}

/** Why the request needs the token; undefined for one that was made on this machine. */
function whyTokenIsNeeded({ socket, headers }: IncomingMessage): string | undefined {
  if (!isLoopbackAddress(socket.remoteAddress)) return 'The control API answers on loopback.'
  if (FORWARDED.some((name) => headers[name] !== undefined)) return 'The request was forwarded by a proxy.'
  if (!isLoopbackHost(headers.host)) return 'The Host header names no loopback address.'
  // A page can post to any address; it cannot hide where it comes from.
  const { origin } = headers
  if (origin !== undefined && !(URL.canParse(origin) && isLoopbackHost(new URL(origin).host)))
    return 'The request comes from a page of another origin.'
  return undefined
}

function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && (/^(::ffff:)?127\./.test(address) || address === '::1')
}

function isLoopbackHost(host: string | undefined): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(host ?? '')
}

function isEqual(a: string, b: string): boolean {
  return timingSafeEqual(sha256(a), sha256(b))
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

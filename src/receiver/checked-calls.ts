/** Checks the arguments of the receiver's methods first: a misspelt `proof` would silently weaken a URL. */
import { constants } from 'node:os'
import type { Server } from 'node:net'
import { z } from 'zod'
import { PROOF_POLICIES } from '../public/callback.ts'
import {
  checkName,
  checkOptions,
  describe,
  functionLike,
  hasMethods,
  numberFrom,
  pageLimit,
  textOf,
} from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS } from '../runtime/clock.ts'
import { OptionsError } from '../public/errors.ts'
import { CALLBACK_KINDS, CARRIERS, EVENT_TYPES, type CallbackSchemas } from '../public/events.ts'
import { checkMount, type CallbackRequest } from '../http/request.ts'
import { EVENT_STATES } from '../inbox/store.ts'
import { isRecord } from '../runtime/values.ts'
import type { Receiver } from './surface.ts'

const milliseconds = numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').optional()
const flag = z.boolean().optional()

const messageStateOptions = z.strictObject({ project: textOf('the display name of a project').optional() })
const replayOptions = z.strictObject({ force: flag })
const page = { after: textOf('the `next` of a page').optional(), limit: pageLimit.optional() }
const pageOptions = z.strictObject(page)
const listEventsOptions = z.strictObject({
  ...page,
  types: z.array(z.enum(EVENT_TYPES)).nonempty('expected a non-empty list of types').optional(),
  project: textOf('the display name of a project').optional(),
  channel: textOf('the name of a channel').optional(),
  carrier: z.enum(CARRIERS).optional(),
  states: z.array(z.enum(EVENT_STATES)).nonempty('expected a non-empty list of states').optional(),
  from: z.date().optional(),
  to: z.date().optional(),
  about: textOf('a message id or a recipient').optional(),
})
const closeOnSignalOptions = z.strictObject({
  deadlineMs: milliseconds,
  listenMs: milliseconds,
  idleMs: milliseconds,
  afterwards: functionLike.optional(),
})

/**
 * Wraps the receiver, so that its methods throw an `OptionsError`, or reject with one, for invalid arguments. Lifecycle methods
 * check their own.
 */
export function checkedCalls<S extends CallbackSchemas, X extends object>(receiver: Receiver<S, X>): Receiver<S, X> {
  const { events, deadLetters } = receiver
  return {
    ...receiver,
    middleware(kind, options) {
      checkNoRequest(kind)
      checkMount('middleware', kind, options)
      return receiver.middleware(kind, options)
    },
    async receive(request) {
      checkRequest(request)
      return receiver.receive(request)
    },
    async messageState(messageId, options) {
      checkOptions(messageStateOptions, options, 'messageState')
      return receiver.messageState(messageId, options)
    },
    events: {
      ...events,
      async list(options) {
        checkOptions(listEventsOptions, options, 'events.list')
        return events.list(options)
      },
      async ofMessage(messageId, options) {
        checkOptions(messageStateOptions, options, 'events.ofMessage')
        return events.ofMessage(messageId, options)
      },
    },
    deadLetters: {
      ...deadLetters,
      async list(page) {
        checkOptions(pageOptions, page, 'deadLetters.list')
        return deadLetters.list(page)
      },
      async replay(id, options) {
        checkOptions(replayOptions, options, 'deadLetters.replay')
        return deadLetters.replay(id, options)
      },
    },
    closeOnSignal(signals, servers, options) {
      checkSignals([signals].flat())
      checkServers([servers ?? []].flat())
      checkOptions(closeOnSignalOptions, options, 'closeOnSignal')
      return receiver.closeOnSignal(signals, servers, options)
    },
  }
}

/** Detects that `receiver.middleware` was mounted in place of its result: it then receives a request. */
function checkNoRequest(kind: unknown): void {
  if (isRecord(kind) && 'method' in kind && 'headers' in kind)
    throw new OptionsError(
      "receiver.middleware itself was mounted. Mount its result: app.use(path, receiver.middleware('status')).",
    )
}

const REQUEST_KEYS = ['kind', 'proof', 'method', 'headers', 'body', 'remoteAddress', 'waitUntil']

/** Written by hand, because it runs for every request. */
function checkRequest(request: unknown): asserts request is CallbackRequest {
  if (!isRecord(request)) throw new OptionsError(`receive: the request is ${describe(request)}; ${EXPECTED_REQUEST}`)
  for (const key of Object.keys(request)) checkName('receive', 'part of a request', key, REQUEST_KEYS)
  const { kind, proof, method, headers, body, waitUntil } = request
  if (kind !== undefined) checkName('receive', 'kind of callback', kind, CALLBACK_KINDS)
  if (proof !== undefined) checkName('receive', 'proof policy', proof, PROOF_POLICIES)
  if (typeof method !== 'string')
    throw new OptionsError(
      `receive: method is ${describe(method)}; expected the method of the request, such as 'POST'.`,
    )
  if (typeof headers !== 'object' || headers === null)
    throw new OptionsError(`receive: headers is ${describe(headers)}; expected an object, or pairs such as Headers.`)
  if (waitUntil !== undefined && typeof waitUntil !== 'function')
    throw new OptionsError(`receive: waitUntil is ${describe(waitUntil)}; expected a function that takes a promise.`)
  if (!isBody(body)) throw new OptionsError(`receive: body is ${describe(body)}; ${EXPECTED_BODY}`)
}

const EXPECTED_REQUEST = 'expected an object such as { kind, method, headers, body }.'
/** A parsed string or object does not contain the signed bytes. */
const EXPECTED_BODY = 'expected its bytes (a Uint8Array or a stream of them), or { parsed } if a parser left no bytes.'

function isBody(body: unknown): boolean {
  if (body === undefined || body === null || body instanceof Uint8Array) return true
  return isRecord(body) && (Symbol.asyncIterator in body || 'parsed' in body)
}

/** Valid names, even on a system that never sends the signal, except those that no process can handle. */
const SIGNALS = [
  ...new Set([...Object.keys(constants.signals), 'SIGBREAK', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR2']),
].filter((signal) => signal !== 'SIGKILL' && signal !== 'SIGSTOP')

function checkSignals(signals: readonly unknown[]): void {
  if (signals.length === 0)
    throw new OptionsError("closeOnSignal: no signal is given; expected at least one, such as 'SIGTERM'.")
  for (const signal of signals) checkName('closeOnSignal', 'signal', signal, SIGNALS)
}

function checkServers(servers: readonly (Server | undefined)[]): void {
  for (const server of servers)
    if (!hasMethods(server, ['listen', 'close', 'once']))
      throw new OptionsError(
        `closeOnSignal: a server is ${describe(server)}; expected the result of app.listen() or http.createServer().`,
      )
}

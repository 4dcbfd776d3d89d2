/** `listen`: runs a receiver that prints callbacks and explains refusals. */
import { subscribe } from 'node:diagnostics_channel'
import { createServer } from 'node:http'
import { CALLBACK_CHANNEL, type CallbackMessage } from '../public/channels.ts'
import { PROOF_POLICIES } from '../public/callback.ts'
import { RefusedError, type MessagingWebhooksError } from '../public/errors.ts'
import { CALLBACK_KINDS, type WebhookEvent } from '../public/events.ts'
import { withLastResort } from '../emulator/http.ts'
import { createReceiver } from '../receiver/receiver.ts'
import { systemClock } from '../runtime/clock.ts'
import { hostFlag, listen, portFlag } from './addresses.ts'
import { command, flag, JSON_LINES, oneOf, toggle, usage, PAIR_FLAGS, pairOf } from './command.ts'
import { describeEvent } from './event-text.ts'
import { shown, timeOfDay, type Terminal } from './terminal.ts'

/** `/` recognises delivery reports by their shape. */
const PATHS = ['/', ...CALLBACK_KINDS.map((kind) => `/${kind}`)]
const LONGEST_PATH = 200
const KEEP_ALIVE_MS = 75_000

export const { define } = command({
  flags: {
    ...PAIR_FLAGS,
    port: portFlag(3000),
    host: hostFlag(),
    proof: flag(
      '--proof <policy>',
      `the proofs that a callback requires: ${PROOF_POLICIES.join(', ')}`,
      oneOf(PROOF_POLICIES).default('either'),
    ),
    payload: toggle('--payload', 'print the payload under each line, without the authKey'),
    json: JSON_LINES,
  },
  notes: `Paths: ${PATHS.join(' ')} (/ recognises delivery reports by their shape)`,
  async run({ signingSecret, authKey, port, host, proof, payload, json }, terminal) {
    const credentials = pairOf(signingSecret, authKey)
    if (credentials === undefined)
      throw usage(
        'No key was given to verify callbacks.',
        'Set SIGNING_SECRET, AUTH_KEY or both, or pass files with --signing-secret-file and --auth-key-file.',
      )
    const print = json ? jsonPrinter(terminal) : linePrinter(terminal, payload)
    const receiver = createReceiver({ credentials, proof, quarantine: false, logger: false })
    // Duplicates are answered 204 and not dispatched.
    subscribe(CALLBACK_CHANNEL, (message) => {
      // Only this receiver publishes to the channel.
      const { outcome, eventId, messageId } = message as CallbackMessage
      if (outcome === 'duplicate') print.duplicate(messageId ?? eventId ?? '')
    })
    receiver.onAny((event) => print.event(event))
    receiver.onError((error) => print.error(error))
    const byPath = new Map([
      ['/', receiver.middleware()],
      ...CALLBACK_KINDS.map((kind) => [`/${kind}`, receiver.middleware(kind)] as const),
    ])
    const server = createServer(
      { keepAliveTimeout: KEEP_ALIVE_MS },
      withLastResort((request, response) => {
        const [path = '/'] = (request.url ?? '/').split('?')
        const middleware = byPath.get(path) ?? byPath.get(path.replace(/\/$/, ''))
        if (middleware !== undefined) {
          middleware(request, response)
          return
        }
        // Answer 404 like an app, so that a misspelt callback URL is noticed.
        print.unknownPath(path.slice(0, LONGEST_PATH))
        request.resume()
        response
          .writeHead(404, { 'content-type': 'text/plain' })
          .end(`No such path. The paths are ${PATHS.join(', ')}\n`)
      }),
    )
    await receiver.start()
    print.listening(await listen(server, port, host))
    receiver.closeOnSignal(['SIGINT', 'SIGTERM'], server, { deadlineMs: 5_000, idleMs: 0 })
  },
})

function jsonPrinter({ printJson }: Terminal) {
  return {
    listening: (url: string) => printJson({ type: 'listening', url }),
    // The bytes are not enumerable, and the payload has no authKey.
    event: (event: WebhookEvent) => printJson(event),
    /** Of the message or, without one, of the event with this id. */
    duplicate: (id: string) => printJson({ type: 'duplicate', id }),
    error: (error: MessagingWebhooksError) =>
      printJson({
        type: error instanceof RefusedError ? 'refused' : 'problem',
        ...(error instanceof RefusedError && { status: error.status }),
        code: error.code,
        message: error.message,
      }),
    unknownPath: (path: string) => printJson({ type: 'unknown_path', path }),
  }
}

function linePrinter({ print, colours }: Terminal, withPayload: boolean): ReturnType<typeof jsonPrinter> {
  const clock = systemClock()
  const problem = (colour: (text: string) => string, what: string, text: string): void =>
    print(`${colours.dim(timeOfDay(clock.now()))}  ${colour(what.padEnd(17))}  ${text}`)
  return {
    listening(url) {
      print(`Listening on ${colours.bold(url)} for POSTs to / and ${PATHS.slice(1).join(', ')}`)
      print(colours.dim('Press Ctrl+C to stop.'))
    },
    event(event) {
      print(describeEvent(event, clock.now(), colours))
      if (withPayload) print(`  ${shown(JSON.stringify(event.payload ?? null))}`)
    },
    duplicate: (id) => problem(colours.yellow, 'duplicate', shown(id)),
    error(error) {
      const text = `${error.code}: ${shown(error.message)}`
      if (error instanceof RefusedError) problem(colours.red, `refused ${error.status}`, text)
      else problem(colours.yellow, 'problem', text)
    },
    unknownPath: (path) => problem(colours.red, 'no such path', `${shown(path)}: the paths are ${PATHS.join(', ')}`),
  }
}

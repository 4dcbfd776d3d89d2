/** `listen`: runs a receiver that prints callbacks and explains refusals. */
import { createServer } from 'node:http'
import { Option, type Command } from 'commander'
import type { CredentialPair } from '../verify/pair.ts'
import { PROOF_POLICIES, type ProofPolicy } from '../public/callback.ts'
import { systemClock } from '../runtime/clock.ts'
import { RefusedError, type MessagingWebhooksError } from '../public/errors.ts'
import { CALLBACK_KINDS, type WebhookEvent } from '../public/events.ts'
import { withLastResort } from '../http/last-resort.ts'
import type { Awaitable, NewEvent, Store } from '../inbox/store.ts'
import { createReceiver } from '../receiver/receiver.ts'
import { memoryStore } from '../stores/memory/store.ts'
import { listen } from './addresses.ts'
import { wholeNumber } from './arguments.ts'
import { createLineTime, describeDuplicate, describeEvent } from './event-line.ts'
import { CliError } from './exit-codes.ts'
import { eventOf } from './kept-events.ts'
import { addSecretOptions, AUTH_KEY, readPair, SIGNING_SECRET } from './secrets.ts'
import { shown, type Terminal } from './terminal.ts'

interface ListenOptions {
  readonly port: number
  readonly host: string
  readonly proof: ProofPolicy
  readonly json?: true
  readonly payload?: true
}

/** `/` recognises delivery reports by their shape. */
const PATHS = ['/', ...CALLBACK_KINDS.map((kind) => `/${kind}`)]
/** Maximum length of a printed path. */
const LONGEST_PATH = 200

export function define(command: Command, terminal: Terminal): void {
  addSecretOptions(command, SIGNING_SECRET, AUTH_KEY)
    .option('--port <number>', 'port to listen on; 0 picks a free one', wholeNumber(0, 65_535), 3000)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .addOption(
      new Option('--proof <policy>', 'the proofs that a callback requires').choices(PROOF_POLICIES).default('either'),
    )
    .option('--payload', 'print the payload under each line, without the authKey')
    .option('--json', 'print one JSON object a line')
    .addHelpText('after', `\nPaths: ${PATHS.join(' ')} (/ recognises delivery reports by their shape)`)
    .action(async (options: ListenOptions) => {
      const pair = readPair(command, SIGNING_SECRET, AUTH_KEY)
      if (pair === undefined)
        throw new CliError(
          'usage',
          'No key was given to verify callbacks.',
          'Set SIGNING_SECRET, AUTH_KEY or both, or pass files with --signing-secret-file and --auth-key-file.',
        )
      await receive(pair, options, terminal)
    })
}

async function receive(credentials: CredentialPair, options: ListenOptions, terminal: Terminal): Promise<void> {
  const print = options.json ? jsonPrinter(terminal) : linePrinter(terminal, options.payload ?? false)
  const store = hearDuplicates(memoryStore(), async ({ id, record, raw }) =>
    print.duplicate(await eventOf({ id, late: false, record, raw })),
  )
  const receiver = createReceiver({ credentials, store, proof: options.proof, quarantine: false, logger: false })
  receiver.onAny((event) => print.event(event))
  receiver.onError((error) => print.error(error))
  const byPath = new Map([
    ['/', receiver.middleware()],
    ...CALLBACK_KINDS.map((kind) => [`/${kind}`, receiver.middleware(kind)] as const),
  ])
  const server = createServer(
    withLastResort((request, response) => {
      const [path = '/'] = (request.url ?? '/').split('?')
      const middleware = byPath.get(path) ?? byPath.get(path.replace(/\/$/, ''))
      if (middleware !== undefined) {
        middleware(request, response)
        return
      }
      // Like an app, so that a misspelt callback URL is noticed.
      print.unknownPath(path)
      request.resume()
      response.writeHead(404, { 'content-type': 'text/plain' }).end(`No such path. The paths are ${PATHS.join(', ')}\n`)
    }),
  )
  server.keepAliveTimeout = 75_000
  await receiver.start()
  const { url } = await listen(server, options)
  print.listening(url)
  receiver.closeOnSignal(['SIGINT', 'SIGTERM'], server, { deadlineMs: 5_000, idleMs: 0 })
}

/** A store that also reports duplicates, which a receiver answers 204 and does not dispatch. */
function hearDuplicates(store: Store, onDuplicate: (event: NewEvent) => Awaitable<void>): Store {
  return {
    capabilities: store.capabilities,
    async open(host) {
      // Without `admitAndClaim`, every event passes through `admit`.
      const { admitAndClaim: _, ...opened } = await store.open(host)
      return {
        ...opened,
        async admit(events, nowMs) {
          const admissions = await opened.admit(events, nowMs)
          for (const [index, event] of events.entries()) if (admissions[index] === 'duplicate') await onDuplicate(event)
          return admissions
        },
      }
    },
  }
}

interface Printer {
  listening(url: string): void
  event(event: WebhookEvent): void
  duplicate(event: WebhookEvent): void
  error(error: MessagingWebhooksError): void
  unknownPath(path: string): void
}

function jsonPrinter({ printJson: line }: Terminal): Printer {
  return {
    listening: (url) => line({ type: 'listening', url }),
    // The bytes are not enumerable, and the payload has no authKey.
    event: (event) => line(event),
    duplicate: (event) => line({ type: 'duplicate', event }),
    error: (error) =>
      line({
        type: error instanceof RefusedError ? 'refused' : 'problem',
        ...(error instanceof RefusedError ? { status: error.status } : {}),
        code: error.code,
        message: error.message,
      }),
    unknownPath: (path) => line({ type: 'unknown_path', path: path.slice(0, LONGEST_PATH) }),
  }
}

function linePrinter({ print, colours }: Terminal, withPayload: boolean): Printer {
  const clock = systemClock()
  const lineTime = createLineTime(clock)
  return {
    listening(url) {
      print(
        `Listening on ${colours.bold(url)} for POSTs to / and ${CALLBACK_KINDS.map((kind) => `/${kind}`).join(', ')}`,
      )
      print(colours.dim('Press Ctrl+C to stop.'))
    },
    event(event) {
      print(describeEvent(event, { time: lineTime(), nowMs: clock.now() }, colours))
      if (withPayload) print(`  ${shown(JSON.stringify(event.payload ?? null))}`, 'whole')
    },
    duplicate: (event) => print(describeDuplicate(event, lineTime(), colours)),
    error(error) {
      const how =
        error instanceof RefusedError
          ? colours.red(`refused ${error.status}`.padEnd(17))
          : colours.yellow('problem'.padEnd(17))
      print(`${colours.dim(lineTime())}  ${how}  ${error.code}: ${shown(error.message)}`)
    },
    unknownPath(path) {
      const what = colours.red('no such path'.padEnd(17))
      print(
        `${colours.dim(lineTime())}  ${what}  ${shown(path.slice(0, LONGEST_PATH))}: the paths are ${PATHS.join(', ')}`,
      )
    },
  }
}

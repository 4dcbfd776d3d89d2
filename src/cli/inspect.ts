/** `inspect`: serves the inspector for a store on loopback. The printed address grants access. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { Command } from 'commander'
import type { Store } from '../inbox/store.ts'
import { createInspector } from '../inspector/create.ts'
import { withLastResort } from '../http/last-resort.ts'
import { createReceiver } from '../receiver/receiver.ts'
import { listen, untilSignal } from './addresses.ts'
import { wholeNumber } from './arguments.ts'
import { addStoreOptions, explained, neededStoreUrl, storeOf, type StoreOption } from './stores.ts'
import type { Terminal } from './terminal.ts'

interface InspectOptions extends StoreOption {
  readonly port: number
  readonly write?: true
  readonly reveal?: true
}

const HOST = '127.0.0.1'
const TOKEN_BYTES = 24

export function define(command: Command, terminal: Terminal): void {
  addStoreOptions(command)
    .option('--port <number>', 'port on 127.0.0.1; 0 picks a free one', wholeNumber(0, 65_535), 0)
    .option('--write', 'allow replaying and discarding dead letters')
    .option('--reveal', 'show phone numbers and bodies, which are masked by default')
    .addHelpText(
      'after',
      '\nShows the store. Counts over time, handlers, duplicates and the quarantine are in the receiver’s process: mount ' +
        'the inspector in the app to see them.',
    )
    .action((options: InspectOptions) => inspect(options, terminal))
}

async function inspect(options: InspectOptions, terminal: Terminal): Promise<void> {
  const store = await explained(async () => storeOf(neededStoreUrl(options, terminal), options))
  // The receiver gets no callbacks, dispatches nothing, and accepts no proof, because its keys are random.
  const receiver = createReceiver({
    credentials: { authKey: secret(), signingSecret: secret() },
    store: onlyLookedInto(store),
    dispatch: false,
    spool: false,
    quarantine: false,
    logger: false,
  })
  // `start` would wait for an unavailable store, so try a read first.
  await explained(() => receiver.events.list({ limit: 1 }))
  await explained(() => receiver.start())
  const rights = [
    'read',
    ...(options.write ? ['write' as const] : []),
    ...(options.reveal ? ['reveal' as const] : []),
  ] as const
  const door = createDoor()
  const look = createInspector(
    receiver,
    { authorize: ({ headers }) => door.isOpenTo(headers.get('cookie')) && rights },
    { storeAlone: true },
  )
  const server = http.createServer(
    withLastResort((request, response) => {
      if (!door.answers(request, response)) look(request, response)
    }),
  )
  const { url } = await listen(server, { port: options.port, host: HOST })
  const token = door.guard(new URL(url).host)
  const { bold, dim } = terminal.colours
  terminal.print(`The inspector is at ${bold(`${url}/?token=${token}`)}`)
  terminal.print(dim('The address works once, for the first browser that opens it. Press Ctrl+C to stop.'))
  if (!options.write) terminal.note('Read-only. Pass --write to allow changes.')
  if (!options.reveal) terminal.note('Phone numbers and bodies are masked. Pass --reveal to show them.')
  await untilSignal()
  server.close()
  await receiver.close()
  server.closeAllConnections()
}

/** Retention is the app's decision, so never prune. */
function onlyLookedInto(store: Store): Store {
  return {
    ...store,
    async open(host) {
      const opened = await store.open(host)
      return { ...opened, prune: () => 0 }
    },
  }
}

/**
 * Exchanges the token in the printed address, once, for a cookie. Then admits only that cookie, and only under the printed
 * host.
 */
function createDoor() {
  const session = secret()
  let token: string | undefined
  let host = ''
  let cookieName = ''

  /** Another host name means DNS rebinding by a foreign page. */
  function isOurs({ headers }: IncomingMessage): boolean {
    return headers.host === host || headers.host === host.replace(HOST, 'localhost')
  }

  return {
    guard(given: string): string {
      host = given
      // Cookies ignore ports, and two inspectors may run at once.
      cookieName = `inspect-${given.slice(given.indexOf(':') + 1)}`
      token = secret()
      return token
    },
    /** True if it has answered the request. */
    answers(request: IncomingMessage, response: ServerResponse): boolean {
      if (!isOurs(request)) {
        refuse(response, 421, 'Open the printed address.')
        return true
      }
      // Any web page can make a browser send a request here.
      const target = URL.parse(request.url ?? '/', `http://${host}`)
      if (target === null) {
        refuse(response, 400, 'The request target is not a URL.')
        return true
      }
      const { pathname, searchParams } = target
      const given = searchParams.get('token')
      if (pathname !== '/' || given === null) return false
      if (token === undefined || !isSame(given, token)) {
        refuse(response, 403, 'This address was used before. Start `messaging-webhooks inspect` again.')
        return true
      }
      token = undefined
      response.writeHead(302, {
        location: './',
        'set-cookie': `${cookieName}=${session}; HttpOnly; SameSite=Strict; Path=/`,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      })
      response.end()
      return true
    },
    isOpenTo(cookies: string | null): boolean {
      return (cookies ?? '').split(/;\s*/).some((cookie) => isSame(cookie, `${cookieName}=${session}`))
    },
  }
}

function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
  response.end(`${text}\n`)
}

function secret(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

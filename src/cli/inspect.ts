/** `inspect`: serves the inspector for a store on loopback. The printed address grants access. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { withLastResort } from '../emulator/http.ts'
import type { Store } from '../inbox/store.ts'
import { createInspector } from '../inspector/create.ts'
import { createReceiver } from '../receiver/receiver.ts'
import { listen, portFlag, untilSignal } from './addresses.ts'
import { command, toggle } from './command.ts'
import { STORE_FLAGS, storeOf } from './stores.ts'

const HOST = '127.0.0.1'
const TOKEN_BYTES = 24

export const { define } = command({
  flags: {
    ...STORE_FLAGS,
    port: portFlag(0),
    write: toggle('--write', 'allow replaying and discarding dead letters'),
    reveal: toggle('--reveal', 'show whole phone numbers, texts and bodies'),
  },
  notes:
    'Shows the store. Counts over time, handlers, duplicates and the quarantine are in the receiver’s process: mount ' +
    'the inspector in the app to see them.',
  async run({ port, write, reveal, ...flags }, terminal) {
    const store = await storeOf(flags, terminal)
    // The receiver gets no callbacks, dispatches nothing, and accepts no proof, because its keys are random.
    const receiver = createReceiver({
      credentials: { authKey: secret(), signingSecret: secret() },
      store: withoutPruning(store),
      dispatch: false,
      spool: false,
      quarantine: false,
      logger: false,
    })
    // `start` would wait for an unavailable store, so try a read first.
    await receiver.events.list({ limit: 1 })
    await receiver.start()
    const rights = ['read', ...(write ? ['write' as const] : []), ...(reveal ? ['reveal' as const] : [])] as const
    const door = createDoor()
    const inspector = createInspector(
      receiver,
      { authorize: ({ headers }) => door.isOpenTo(headers.get('cookie')) && rights },
      { storeAlone: true },
    )
    const server = http.createServer(
      withLastResort((request, response) => {
        if (!door.answers(request, response)) inspector(request, response)
      }),
    )
    const url = await listen(server, port, HOST)
    const token = door.guard(new URL(url).host)
    const { bold, dim } = terminal.colours
    terminal.print(`The inspector is at ${bold(`${url}/?token=${token}`)}`)
    terminal.print(dim('The address works once, for the first browser that opens it. Press Ctrl+C to stop.'))
    if (!write) terminal.note('Read-only. Pass --write to allow changes.')
    if (!reveal)
      terminal.note('Phone numbers are shortened, and texts and bodies left out. Pass --reveal to show them.')
    await untilSignal()
    server.close()
    await receiver.close()
    server.closeAllConnections()
  },
})

/** Prunes nothing, because the app decides on retention. */
function withoutPruning(store: Store): Store {
  return { ...store, open: async (host) => ({ ...(await store.open(host)), prune: () => 0 }) }
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

  /** Status and text of a refusal, `enter` for a request with the token, or undefined for any other. */
  function judge({ headers, url }: IncomingMessage): readonly [status: number, text: string] | 'enter' | undefined {
    // Another host name means DNS rebinding by a foreign page.
    if (headers.host !== host && headers.host !== host.replace(HOST, 'localhost'))
      return [421, 'Open the printed address.']
    // Any web page can make a browser send a request here.
    const target = URL.parse(url ?? '/', `http://${host}`)
    if (target === null) return [400, 'The request target is not a URL.']
    const given = target.searchParams.get('token')
    if (target.pathname !== '/' || given === null) return undefined
    if (token !== undefined && isSame(given, token)) return 'enter'
    return [403, 'This address was used before. Start `messaging-webhooks inspect` again.']
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
      const verdict = judge(request)
      if (verdict === undefined) return false
      if (verdict === 'enter') {
        token = undefined
        response.writeHead(302, {
          location: './',
          'set-cookie': `${cookieName}=${session}; HttpOnly; SameSite=Strict; Path=/`,
          'cache-control': 'no-store',
          'referrer-policy': 'no-referrer',
        })
        response.end()
      } else {
        const [status, text] = verdict
        response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
        response.end(`${text}\n`)
      }
      return true
    },
    isOpenTo(cookies: string | null): boolean {
      return (cookies ?? '').split(/;\s*/).some((cookie) => isSame(cookie, `${cookieName}=${session}`))
    },
  }
}

function secret(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

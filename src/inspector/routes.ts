/** Every address of the inspector, with what it answers and writes down. */
import { CARRIERS, EVENT_TYPES } from '../public/events.ts'
import { readVersion } from '../public/version.ts'
import type { Receiver } from '../receiver/surface.ts'
import { createAssets } from './assets.ts'
import { CHANGES, createLetters, idsSchema } from './dead-letters.ts'
import { asCsv, createFinding, exportedEvents, listEvents, type MessageName } from './events.ts'
import { downloadEvent, showEvent, showMessage } from './message.ts'
import type { Audit, AuditEntry, Rights } from './options.ts'
import { overview, type Looking } from './overview.ts'
import { clearSchema, createKept, reverifySchema } from './quarantine.ts'
import { inTurn, textIn } from './queries.ts'
import { download, json, readChange, Refused, type Asked, type Route } from './server.ts'
import type { Session } from './shapes.ts'

/** A receiver, as far as the inspector asks it. */
export type InspectedReceiver = Pick<Receiver, 'stats' | 'health' | 'quarantine' | 'deadLetters' | 'onError'>

interface RouteParts {
  readonly receiver: InspectedReceiver
  readonly looking: Looking
  readonly audit: Audit
  readonly openStream: (asked: Asked, rights: Rights) => Response
  readonly storeAlone: boolean
}

/** What a change came to, for its answer and for the audit. */
interface Changed {
  readonly answer: object
  readonly ids?: readonly string[]
  readonly result: AuditEntry['result']
}

export function createRoutes({ receiver, looking, audit, openStream, storeAlone }: RouteParts): readonly Route[] {
  const { inside } = looking
  const { clock, capabilities, projects } = inside
  const finding = createFinding(inside)
  const found = { looking, inside, finding }
  const letters = createLetters(inside, receiver.deadLetters)
  const kept = createKept(receiver.quarantine, clock)
  const asset = createAssets()

  function session({ write, reveal, who }: Rights): Session {
    const { name, durable } = capabilities
    return {
      may: { write, reveal },
      who,
      version: readVersion(),
      storeAlone,
      store: { name, durable },
      types: EVENT_TYPES,
      projects: [...new Set([...projects(), ...looking.watcher.projects])],
      carriers: CARRIERS,
    }
  }

  function writeDown(
    { remoteAddress }: Asked,
    { who }: Rights,
    entry: Pick<AuditEntry, 'what' | 'at'> & Partial<Pick<AuditEntry, 'outcome' | 'ids' | 'result'>>,
  ): void {
    audit({ who, remoteAddress, outcome: 'done', ids: [], result: {}, ...entry })
  }

  const get = (path: string, run: Route['run']): Route => ({ method: 'GET', path, run })
  const look = (path: string, read: (query: URLSearchParams, rights: Rights, part: string) => Promise<object>): Route =>
    get(path, async ({ query }, rights, part) => json(await inTurn(() => read(query, rights, part))))

  /** Written down, whatever comes of it. */
  const change = (
    what: AuditEntry['what'],
    path: string,
    run: (asked: Asked, rights: Rights) => Promise<Changed>,
  ): Route => ({
    method: 'POST',
    path,
    async run(asked, rights) {
      const at = new Date(clock.now())
      try {
        const { answer, ...entry } = await run(asked, rights)
        writeDown(asked, rights, { what, at, ...entry })
        return json(answer)
      } catch (error) {
        writeDown(asked, rights, { what, at, outcome: error instanceof Refused ? 'refused' : 'failed' })
        throw error
      }
    },
  })

  const exported = (kind: string, type: string, write: typeof asCsv): Route =>
    get(`/api/events.${kind}`, async (asked, rights) => {
      const rows = await inTurn(() => exportedEvents(asked.query, rights, found))
      const at = new Date(clock.now())
      writeDown(asked, rights, { what: 'events.export', at, result: { events: rows.length } })
      return download(`events-${at.toISOString().slice(0, 19).replaceAll(':', '')}.${kind}`, type, write(rows))
    })

  return [
    get('/', ({ headers }) => asset('index.html', headers.get('if-none-match'))),
    get('/page/:', ({ headers }, _, name) => asset(name, headers.get('if-none-match'))),
    get('/api/session', (_, rights) => json(session(rights))),
    get('/api/overview', async ({ query }, rights) =>
      json(await overview(query, rights, { receiver, looking, letters, kept })),
    ),
    get('/api/stream', openStream),
    look('/api/events', (query, rights) => listEvents(query, rights, found)),
    exported('csv', 'text/csv; charset=utf-8', asCsv),
    exported('json', 'application/json; charset=utf-8', (rows) => JSON.stringify(rows, undefined, 2)),
    look('/api/events/:', (query, rights, id) => showEvent(id, messageIn(query), rights, found)),
    get('/api/events/:/raw', async (asked, rights, id) => {
      const answer = await inTurn(() => downloadEvent(id, messageIn(asked.query), rights, finding))
      writeDown(asked, rights, { what: 'events.download', at: new Date(clock.now()), ids: [id] })
      return answer
    }),
    look('/api/messages/:', (query, rights, id) => showMessage(id, textIn(query, 'project'), rights, found)),
    look('/api/dead-letters', letters.list),
    look('/api/dead-letters/ids', letters.ids),
    ...CHANGES.map((decision) =>
      change(`dead-letters.${decision}`, `/api/dead-letters/${decision}`, async (asked, rights) => {
        const { ids } = await readChange(asked, rights, idsSchema)
        const answer = await letters.change(decision, ids)
        const { done, missing, failed } = answer
        return { answer, ids, result: { done: done.length, missing: missing.length, failed: failed.length } }
      }),
    ),
    get('/api/quarantine', async ({ query }, rights) => json(await kept.list(query, rights))),
    change('quarantine.reverify', '/api/quarantine/reverify', async (asked, rights) => {
      const answer = await kept.reverify(await readChange(asked, rights, reverifySchema))
      return { answer, result: { ...answer } }
    }),
    change('quarantine.clear', '/api/quarantine/clear', async (asked, rights) => {
      await readChange(asked, rights, clearSchema)
      const answer = kept.clear()
      return { answer, result: { ...answer } }
    }),
  ]
}

function messageIn(query: URLSearchParams): MessageName | undefined {
  const messageId = textIn(query, 'of')
  return messageId === undefined ? undefined : { messageId, project: textIn(query, 'project') }
}

/** Every address of the inspector. */
import { CARRIERS, EVENT_TYPES } from '../public/events.ts'
import type { Receiver } from '../receiver/surface.ts'
import { readVersion } from '../public/version.ts'
import type { Assets } from './assets.ts'
import { CHANGES, createLetters, idsSchema } from './dead-letters.ts'
import { downloadEvent, showEvent } from './event.ts'
import { asCsv, createFinding, exportedEvents, listEvents, type MessageName } from './events.ts'
import { showMessage } from './message.ts'
import type { Audit, AuditEntry, Rights } from './options.ts'
import { overview, type Looking } from './overview.ts'
import { clearSchema, createKept, reverifySchema } from './quarantine.ts'
import {
  download,
  inTurn,
  json,
  problem,
  readChange,
  Refused,
  textIn,
  type Answer,
  type Asked,
  type RouteRow,
} from './server.ts'
import type { Session } from './shapes.ts'

/** A receiver, as far as the inspector asks it. */
export type InspectedReceiver = Pick<Receiver, 'stats' | 'health' | 'quarantine' | 'deadLetters' | 'onError'>

interface RouteParts {
  readonly receiver: InspectedReceiver
  readonly looking: Looking
  readonly assets: Assets
  readonly audit: Audit
  readonly openStream: (asked: Asked, rights: Rights) => Answer
  readonly storeAlone: boolean
}

/** What a change came to, for its answer and for the audit. */
interface Changed {
  readonly answer: object
  readonly ids?: readonly string[]
  readonly result: AuditEntry['result']
}

export function createRoutes({
  receiver,
  looking,
  assets,
  audit,
  openStream,
  storeAlone,
}: RouteParts): readonly RouteRow[] {
  const { inside } = looking
  const { clock, capabilities, projects } = inside
  const finding = createFinding(inside)
  const found = { looking, inside, finding }
  const letters = createLetters(inside, receiver.deadLetters)
  const kept = createKept(receiver.quarantine, clock)
  const parts = { receiver, looking, letters, kept }

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

  /** Writes each change down, whatever comes of it. */
  async function audited(
    what: AuditEntry['what'],
    { remoteAddress }: Asked,
    { who }: Rights,
    change: () => Promise<Changed>,
  ): Promise<Answer> {
    const entry = { what, who, at: new Date(clock.now()), remoteAddress }
    try {
      const { answer, ids = [], result } = await change()
      audit({ ...entry, outcome: 'done', ids, result })
      return json(answer)
    } catch (error) {
      audit({ ...entry, outcome: error instanceof Refused ? 'refused' : 'failed', ids: [], result: {} })
      throw error
    }
  }

  async function exported(what: 'csv' | 'json', { query, remoteAddress }: Asked, rights: Rights): Promise<Answer> {
    const rows = await inTurn(() => exportedEvents(query, rights, found))
    const entry = { what: 'events.export', who: rights.who, at: new Date(clock.now()), remoteAddress } as const
    audit({ ...entry, outcome: 'done', ids: [], result: { events: rows.length } })
    const name = `events-${new Date(clock.now()).toISOString().slice(0, 19).replaceAll(':', '')}.${what}`
    return what === 'csv'
      ? download(name, 'text/csv; charset=utf-8', asCsv(rows))
      : download(name, 'application/json; charset=utf-8', JSON.stringify(rows, undefined, 2))
  }

  const get = (path: string, run: RouteRow['run']): RouteRow => ({ method: 'GET', path, run })
  const look = (path: string, read: (asked: Asked, rights: Rights, part: string) => Promise<object>): RouteRow =>
    get(path, async (asked, rights, [part = '']) => json(await inTurn(() => read(asked, rights, part))))
  const change = (
    what: AuditEntry['what'],
    path: string,
    run: (asked: Asked, rights: Rights) => Promise<Changed>,
  ): RouteRow => ({
    method: 'POST',
    path,
    run: (asked, rights) => audited(what, asked, rights, () => run(asked, rights)),
  })

  return [
    get('/', ({ headers }) => assets.index(headers.get('if-none-match'))),
    get(
      '/page/:',
      ({ headers }, _, [name = '']) =>
        assets.file(name, headers.get('if-none-match')) ?? problem(404, 'not_found', 'The page has no such file.'),
    ),
    get('/api/session', (_, rights) => json(session(rights))),
    get('/api/overview', async ({ query }, rights) => json(await overview(query, rights, parts))),
    get('/api/stream', openStream),
    look('/api/events', ({ query }, rights) => listEvents(query, rights, found)),
    get('/api/events.csv', (asked, rights) => exported('csv', asked, rights)),
    get('/api/events.json', (asked, rights) => exported('json', asked, rights)),
    look('/api/events/:', ({ query }, rights, id) => showEvent(id, messageIn(query), rights, found)),
    get('/api/events/:/raw', async ({ query, remoteAddress }, rights, [id = '']) => {
      const entry = { what: 'events.download', who: rights.who, at: new Date(clock.now()), remoteAddress } as const
      const answer = await inTurn(() => downloadEvent(id, messageIn(query), rights, finding))
      audit({ ...entry, outcome: 'done', ids: [id], result: {} })
      return answer
    }),
    look('/api/messages/:', ({ query }, rights, id) => showMessage(id, textIn(query, 'project'), rights, found)),
    look('/api/dead-letters', ({ query }, rights) => letters.list(query, rights)),
    look('/api/dead-letters/ids', ({ query }) => letters.ids(query)),
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

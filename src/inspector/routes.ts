/** The routes of the inspector, and their audit entries. */
import type { z } from 'zod'
import { CARRIERS, EVENT_TYPES } from '../public/events.ts'
import { readVersion } from '../public/version.ts'
import type { Awaitable, StoredEvent } from '../inbox/store.ts'
import { createAssets } from './assets.ts'
import { CHANGES, createLetters, idsSchema } from './dead-letters.ts'
import { asCsv, createFinding, exportedEvents, listEvents } from './events.ts'
import { shown } from './masking.ts'
import { showEvent, showMessage } from './message.ts'
import type { AuditEntry, Rights } from './options.ts'
import { overview, type InspectedReceiver, type Looking } from './overview.ts'
import { clearSchema, createKept, reverifySchema } from './quarantine.ts'
import { inTurn, readQuery, type ListQuery } from './queries.ts'
import { download, json, readChange, Refused, type Asked, type Route } from './server.ts'

interface RouteParts {
  readonly receiver: InspectedReceiver
  readonly looking: Looking
  readonly audit: (entry: AuditEntry) => void
  readonly storeAlone: boolean
}

export function createRoutes({ receiver, looking, audit, storeAlone }: RouteParts): readonly Route[] {
  const { inside } = looking
  const { clock } = inside
  const finding = createFinding(inside)
  const letters = createLetters(inside, receiver.deadLetters)
  const kept = createKept(receiver.quarantine, clock)
  const asset = createAssets()

  async function find(id: string, { of: messageId, project }: ListQuery): Promise<StoredEvent> {
    const stored = await finding.event(id, messageId === undefined ? undefined : { messageId, project })
    if (stored === undefined)
      throw new Refused(404, 'event_unknown', 'The store has no event with this id. Its retention may be over.')
    return stored
  }

  function writeDown(
    what: AuditEntry['what'],
    { remoteAddress }: Asked,
    { who }: Rights,
    entry: Partial<Pick<AuditEntry, 'outcome' | 'ids' | 'result'>>,
  ): void {
    audit({ what, who, remoteAddress, at: new Date(clock.now()), outcome: 'done', ids: [], result: {}, ...entry })
  }

  const get = (path: string, run: Route['run']): Route => ({ method: 'GET', path, run })
  const look = (path: string, read: (query: ListQuery, rights: Rights, part: string) => Promise<object>): Route =>
    get(path, async (asked, rights, part) => {
      const query = readQuery(asked.query)
      return json(await inTurn(async () => shown(await read(query, rights, part), rights, clock)))
    })

  /** Audits every outcome. `run` resolves to the answer, and to its result and ids for the audit. */
  const change = <T>(
    what: AuditEntry['what'],
    schema: z.ZodType<T>,
    run: (input: T) => Awaitable<readonly [answer: object, result: AuditEntry['result'], ids?: readonly string[]]>,
  ): Route => ({
    method: 'POST',
    path: `/api/${what.replace('.', '/')}`,
    async run(asked, rights) {
      try {
        const [answer, result, ids = []] = await run(await readChange(asked, rights, schema))
        writeDown(what, asked, rights, { ids, result })
        return json(answer)
      } catch (error) {
        writeDown(what, asked, rights, { outcome: error instanceof Refused ? 'refused' : 'failed' })
        throw error
      }
    },
  })

  const exported = (kind: string, type: string, write: typeof asCsv): Route =>
    get(`/api/events.${kind}`, async (asked, rights) => {
      const query = readQuery(asked.query)
      const rows = await inTurn(async () => shown(await exportedEvents(query, inside, finding), rights, clock))
      writeDown('events.export', asked, rights, { result: { events: rows.length } })
      const at = new Date(clock.now()).toISOString().slice(0, 19).replaceAll(':', '')
      return download(`events-${at}.${kind}`, type, write(rows))
    })

  return [
    get('/', ({ headers }) => asset('index.html', headers.get('if-none-match'))),
    get('/page/:', ({ headers }, _, name) => asset(name, headers.get('if-none-match'))),
    get('/api/session', async (_, rights) => json(await sessionOf(rights, { receiver, looking, storeAlone }))),
    get('/api/overview', async ({ query }, rights) =>
      json(await overview(readQuery(query).range, rights, { receiver, looking, letters, kept })),
    ),
    look('/api/events', (query) => listEvents(query, inside, finding)),
    exported('csv', 'text/csv; charset=utf-8', asCsv),
    exported('json', 'application/json; charset=utf-8', (rows) => JSON.stringify(rows, undefined, 2)),
    look('/api/events/:', async (query, _, id) => showEvent(await find(id, query), looking)),
    get('/api/events/:/raw', async (asked, rights, id) => {
      if (!rights.reveal)
        throw new Refused(403, 'reveal_required', 'The download of a body requires the right `reveal`.')
      const { raw } = await inTurn(() => find(id, readQuery(asked.query)))
      if (raw === undefined) throw new Refused(404, 'not_kept', 'The store no longer has the bytes of this event.')
      writeDown('events.download', asked, rights, { ids: [id] })
      return download(`${id}.json`, 'application/octet-stream', raw)
    }),
    look('/api/messages/:', ({ project }, _, messageId) => showMessage({ messageId, project }, looking, finding)),
    look('/api/dead-letters', (query, rights) => letters.list(query, rights)),
    look('/api/dead-letters/ids', (query) => letters.ids(query)),
    ...CHANGES.map((decision) =>
      change(`dead-letters.${decision}`, idsSchema, async ({ ids }) => {
        const answer = await letters.change(decision, ids)
        const { done, missing, failed } = answer
        return [answer, { done: done.length, missing: missing.length, failed: failed.length }, ids]
      }),
    ),
    look('/api/quarantine', (query) => kept.list(query)),
    change('quarantine.reverify', reverifySchema, async (given) => {
      const answer = await kept.reverify(given)
      return [answer, { ...answer }]
    }),
    change('quarantine.clear', clearSchema, () => {
      const answer = kept.clear()
      return [answer, { ...answer }]
    }),
  ]
}

/** GET api/session: the reader's rights, the receiver, and `changes`. An open page requests it every 2 s. */
export async function sessionOf(
  { who, ...may }: Rights,
  { receiver, looking, storeAlone }: Pick<RouteParts, 'receiver' | 'looking' | 'storeAlone'>,
) {
  const { inside, watcher, read } = looking
  const { name, durable } = inside.capabilities
  const { accepted, refused, unsettled, deadLetters } = (await read()).stats
  const quarantined = receiver.quarantine.size
  return {
    may,
    who,
    version: readVersion(),
    /** The store was opened without its receiver: counts, chart, handlers and quarantine are empty. */
    storeAlone,
    store: { name, durable },
    types: EVENT_TYPES,
    projects: [...new Set([...inside.projects(), ...watcher.projects])],
    carriers: CARRIERS,
    deadLetters,
    quarantined,
    /** Differs after every change. */
    changes: [watcher.counts.changes, accepted, refused, unsettled, deadLetters, quarantined].join(),
  }
}

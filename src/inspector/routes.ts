/** The routes of the inspector, their audit entries, and the types of their answers. */
import type { z } from 'zod'
import { CARRIERS, EVENT_TYPES } from '../public/events.ts'
import { readVersion } from '../public/version.ts'
import type { Awaitable } from '../inbox/store.ts'
import type { StoredEvent } from '../messages/views.ts'
import { CHANGES, createLetters, idsSchema, type Letters } from './dead-letters.ts'
import { asCsv, createFinding, exportedEvents, listEvents } from './events.ts'
import { shown } from './masking.ts'
import { showEvent, showMessage } from './message.ts'
import type { AuditEntry, Rights } from './options.ts'
import { overview, type Looking } from './overview.ts'
import { clearSchema, createKept, reverifySchema, type Kept } from './quarantine.ts'
import {
  limitedSearch,
  readQuery,
  type ListQuery,
  download,
  json,
  readChange,
  ProblemError,
  type Asked,
  type Route,
  nothingThere,
  reply,
  type Problem,
} from './server.ts'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'

export function createRoutes(
  looking: Looking,
  audit: (entry: AuditEntry) => void,
  storeAlone: boolean,
): readonly Route[] {
  const { inspection, receiver } = looking
  const { clock } = inspection
  const finding = createFinding(inspection)
  const letters = createLetters(inspection, receiver.deadLetters)
  const kept = createKept(receiver.quarantine, clock)
  const asset = createAssets()

  async function find(id: string, { of: messageId, project }: ListQuery): Promise<StoredEvent> {
    const stored = await finding.event(id, messageId === undefined ? undefined : { messageId, project })
    if (stored === undefined)
      throw new ProblemError(404, 'event_unknown', 'The store has no event with this id. Its retention may be over.')
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
      return json(await limitedSearch(async () => shown(await read(query, rights, part), rights)))
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
        writeDown(what, asked, rights, { outcome: error instanceof ProblemError ? 'refused' : 'failed' })
        throw error
      }
    },
  })

  const exported = (kind: string, type: string, write: typeof asCsv): Route =>
    get(`/api/events.${kind}`, async (asked, rights) => {
      const query = readQuery(asked.query)
      const rows = await limitedSearch(async () => shown(await exportedEvents(query, inspection, finding), rights))
      writeDown('events.export', asked, rights, { result: { events: rows.length } })
      const at = new Date(clock.now()).toISOString().slice(0, 19).replaceAll(':', '')
      return download(`events-${at}.${kind}`, type, write(rows))
    })

  return [
    get('/', ({ headers }) => asset('index.html', headers.get('if-none-match'))),
    get('/page/:', ({ headers }, _, name) => asset(name, headers.get('if-none-match'))),
    get('/api/session', async (_, rights) => json(await sessionOf(rights, looking, storeAlone))),
    get('/api/overview', async ({ query }, rights) =>
      json(await overview(readQuery(query).range, rights, looking, letters, kept)),
    ),
    look('/api/events', (query) => listEvents(query, inspection, finding, kept)),
    exported('csv', 'text/csv; charset=utf-8', asCsv),
    exported('json', 'application/json; charset=utf-8', (rows) => JSON.stringify(rows, undefined, 2)),
    look('/api/events/:', async (query, _, id) => showEvent(await find(id, query), looking)),
    get('/api/events/:/raw', async (asked, rights, id) => {
      if (!rights.reveal)
        throw new ProblemError(403, 'reveal_required', 'The download of a body requires the right `reveal`.')
      const { raw } = await limitedSearch(() => find(id, readQuery(asked.query)))
      if (raw === undefined) throw new ProblemError(404, 'not_kept', 'The store no longer has the bytes of this event.')
      writeDown('events.download', asked, rights, { ids: [id] })
      return download(`${id}.json`, 'application/octet-stream', raw)
    }),
    look('/api/messages/:', ({ project }, _, messageId) => showMessage({ messageId, project }, looking, finding, kept)),
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
async function sessionOf(
  { who, ...may }: Rights,
  { receiver, inspection, watcher, read }: Looking,
  storeAlone: boolean,
) {
  const { name, durable } = inspection.capabilities
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
    projects: [...new Set([...inspection.projects(), ...watcher.projects])],
    carriers: CARRIERS,
    deadLetters,
    quarantined,
    /** Differs after every change. */
    changes: [watcher.counts.changes, accepted, refused, unsettled, deadLetters, quarantined].join(),
  }
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const PAGE = new URL('./page/', import.meta.url)

/** Serves the page's files from a fixed table, read once. No path of a request reaches the disk. */
function createAssets(): (name: string, ifNoneMatch: string | null) => Response {
  let files: ReturnType<typeof readFiles> | undefined
  return (name, ifNoneMatch) => {
    files ??= readFiles()
    if (name === 'index.html' && !files.has('main.js'))
      throw new ProblemError(503, 'page_not_built', 'The page of the inspector is not built: run `npm run build`.')
    const found = files.get(name)
    if (found === undefined) throw nothingThere()
    const { body, type, etag } = found
    // The browser revalidates with each request, and usually gets a 304.
    const headers = { etag, 'cache-control': 'private, no-cache' }
    return ifNoneMatch === etag ? reply(304, headers) : reply(200, { ...headers, 'content-type': type }, body)
  }
}

function readFiles() {
  const names = existsSync(PAGE) ? readdirSync(PAGE) : []
  const files = names.map((name) => {
    const body = readFileSync(new URL(name, PAGE))
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
    return [name, { body, type: TYPES[extname(name)] ?? '', etag }] as const
  })
  // Skips the TypeScript sources of the page.
  return new Map(files.filter(([, { type }]) => type !== ''))
}

export type { Problem }

/**
 * The JSON that the page receives: the results of the functions that the routes call. Times are ISO 8601 in UTC. Payloads are sent as text, so
 * that numbers stay as written. `masking.ts` decides what of an answer its reader sees.
 */
type Json<T> = T extends Date ? string : T extends object ? { readonly [K in keyof T]: Json<T[K]> } : T

export type Session = Json<Awaited<ReturnType<typeof sessionOf>>>
export type Overview = Json<Awaited<ReturnType<typeof overview>>>
export type Attention = Overview['attention'][number]
export type Bucket = Overview['plot']['buckets'][number]

/** GET api/events?type&project&channel&carrier&outcome&from&to&q&after&limit. `q`: message id, recipient or event id. */
export type EventList = Json<Awaited<ReturnType<typeof listEvents>>>
export type EventRow = EventList['items'][number]
export type Outcome = EventRow['outcome']
export type Sent = NonNullable<EventList['sent']>[number]
/** GET api/events/:id?of&project. `of`: the id of its message. */
export type EventDetail = Json<ReturnType<typeof showEvent>>
export type Attempt = EventDetail['attempts'][number]
export type MessageDetail = Json<Awaited<ReturnType<typeof showMessage>>>
export type TimelineEntry = MessageDetail['entries'][number]

/** GET api/dead-letters?type&project&error&from&to&after&limit. */
export type DeadLetterList = Json<Awaited<ReturnType<Letters['list']>>>
/** GET api/dead-letters/ids, with the same filters. */
export type DeadLetterIds = Json<Awaited<ReturnType<Letters['ids']>>>
/** POST api/dead-letters/replay | force | discard, `{ ids }`, at most 500. */
export type DeadLetterResult = Json<Awaited<ReturnType<Letters['change']>>>

/** GET api/quarantine?class&code&project&q&after&limit. `q`: message id, recipient or request id. */
export type QuarantineList = Json<Awaited<ReturnType<Kept['list']>>>
/** POST api/quarantine/reverify `{ dryRun, clockOffsetSeconds? }`. */
export type ReverifyResult = Json<Awaited<ReturnType<Kept['reverify']>>>
/** POST api/quarantine/clear `{}`. */
export type ClearResult = Json<ReturnType<Kept['clear']>>

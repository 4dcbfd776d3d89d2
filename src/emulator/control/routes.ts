/** The control API: one row a route, from which requests are answered and the reference's table is made. */
import { z } from 'zod'
import { CALLBACK_KINDS } from '../../events.ts'
import { OUTCOMES, type Outcome } from '../outcomes.ts'
import type { Emulator } from '../surface.ts'
import { TRIGGER_NAMES, TRIGGERS } from '../triggers.ts'

/** What a route may use. */
export type Controlled = Omit<Emulator, 'app' | 'controlApp' | 'listen' | 'close' | 'onActivity'>

interface RouteInput {
  /** The project that the path names, if it does. */
  readonly project: string | undefined
  readonly query: URLSearchParams
  /** The JSON body; `{}` where there is none. */
  readonly body: unknown
}

/** One route of the control API. */
export interface ControlRoute {
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** `:project` stands for a display name, percent-encoded. */
  readonly path: string
  readonly what: string
  /** Answers a request to it. */
  readonly run: (emulator: Controlled, input: RouteInput) => unknown
}

const fields = z.record(z.string(), z.unknown())
const triggerBody = z.strictObject({
  event: z.enum(TRIGGER_NAMES),
  project: z.string().optional(),
  fields: fields.default({}),
})
const callbackBody = z.strictObject({
  kind: z.enum(CALLBACK_KINDS),
  project: z.string().optional(),
  payload: fields,
})
const key = z.string().min(1)
const pairBody = z.strictObject({ authKey: key.optional(), signingSecret: key.optional() })
const apiKeyBody = z.strictObject({ apiKey: key.optional() })
const idleBody = z.strictObject({ deadlineMs: z.number().min(0).max(600_000).optional() })

const PAGE = 100

/** Every route. */
export const CONTROL_ROUTES: readonly ControlRoute[] = [
  {
    method: 'GET',
    path: '/control',
    what: 'These routes.',
    run: () => CONTROL_ROUTES.map(({ method, path, what }) => ({ method, path, what })),
  },
  { method: 'GET', path: '/control/report', what: 'What was sent, answered and refused.', run: (it) => it.report() },
  {
    method: 'GET',
    path: '/control/sends',
    what: 'The answered sends, a page at a time: `?after=` and `?limit=` (100).',
    run: (it, { query }) => pageOf(it.sends(), query),
  },
  {
    method: 'GET',
    path: '/control/deliveries',
    what: 'The callbacks that were made, likewise.',
    run: (it, { query }) => pageOf(it.deliveries(), query),
  },
  {
    method: 'GET',
    path: '/control/otp-log',
    what: 'The `transactional` sends, likewise.',
    run: (it, { query }) => pageOf(it.otpLog(), query),
  },
  {
    method: 'GET',
    path: '/control/channels',
    what: 'What the channels are called.',
    run: (it) => it.channels(),
  },
  {
    method: 'GET',
    path: '/control/outcomes',
    what: 'The documented numbers.',
    run: (it) => OUTCOMES.map((outcome) => shown(outcome, it.channels())),
  },
  {
    method: 'GET',
    path: '/control/triggers',
    what: 'What can be triggered.',
    run: () => TRIGGER_NAMES.map((event) => ({ event, kind: TRIGGERS[event].kind, what: TRIGGERS[event].what })),
  },
  { method: 'GET', path: '/control/projects', what: 'The projects, without keys.', run: (it) => it.projects() },
  {
    method: 'GET',
    path: '/control/projects/:project/keys',
    what: 'The live keys of a project.',
    run: (it, { project }) => it.keys({ project }),
  },
  {
    method: 'PATCH',
    path: '/control/projects/:project',
    what: 'Changes its `balance`, `volumeLimit`, `senderId`, `enforceHttps`, `callbackUrls` and so on.',
    run: (it, { body, project }) => it.configure(fields.parse(body), { project }),
  },
  {
    method: 'POST',
    path: '/control/projects/:project/rotate-keys',
    what: 'A new Auth Key and signing secret, at once; or those that you name.',
    run: (it, { body, project }) => it.rotateKeys(pairBody.parse(body), { project }),
  },
  {
    method: 'POST',
    path: '/control/projects/:project/regenerate-api-key',
    what: 'A new API key; the old one is dead at once.',
    run: (it, { body, project }) => it.regenerateApiKey(apiKeyBody.parse(body).apiKey, { project }),
  },
  {
    method: 'POST',
    path: '/control/trigger',
    what: 'Makes a callback that no send leads to: `{ event, project, fields }`.',
    run: (it, { body }) => {
      const { event, project, fields: own } = triggerBody.parse(body)
      return it.trigger(event, own, { project })
    },
  },
  {
    method: 'POST',
    path: '/control/callback',
    what: 'Makes a callback of your own: `{ kind, project, payload }`.',
    run: (it, { body }) => {
      const { kind, project, payload } = callbackBody.parse(body)
      return it.callback(kind, payload, { project })
    },
  },
  {
    method: 'POST',
    path: '/control/idle',
    what: 'Answers `{ idle }` when all callbacks were made, or when `deadlineMs` (10,000) has passed.',
    run: async (it, { body }) => ({ idle: await it.idle(idleBody.parse(body)) }),
  },
]

/** A part of a list from a place on, and the place of the next part. */
function pageOf<T>(list: readonly T[], query: URLSearchParams): { items: readonly T[]; next: number | null } {
  const page = z
    .strictObject({ after: z.coerce.number().int().min(0), limit: z.coerce.number().int().min(1).max(10_000) })
    .parse({ after: query.get('after') ?? 0, limit: query.get('limit') ?? PAGE })
  const end = page.after + page.limit
  return { items: list.slice(page.after, end), next: end < list.length ? end : null }
}

/** With the channels by their names here. Infinity is no JSON. */
function shown(outcome: Outcome, names: ReturnType<Controlled['channels']>): object {
  const { transientFailures } = outcome
  const channels = outcome.channels.flatMap((channel) => names[channel])
  return { ...outcome, channels, ...(transientFailures === Infinity ? { transientFailures: 'always' } : undefined) }
}

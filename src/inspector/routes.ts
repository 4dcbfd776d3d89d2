/** Every address of the inspector. */
import type { Receiver } from '../surface.ts'
import { json, problem, Refused, type Answer } from './answer.ts'
import type { Assets } from './assets.ts'
import { changeDeadLetters, CHANGES, idsSchema, listDeadLetters } from './dead-letters.ts'
import { downloadEvent, showEvent } from './event.ts'
import { listEvents } from './events.ts'
import { createFinding, type MessageName } from './finding.ts'
import type { Looking } from './looking.ts'
import { showMessage } from './message.ts'
import type { Audit, AuditEntry } from './audit.ts'
import { readChange } from './changes.ts'
import { overview } from './overview.ts'
import { listQuarantine, reverify, reverifySchema } from './quarantine.ts'
import { textIn } from './queries.ts'
import type { Asked } from './request.ts'
import type { Rights } from './rights.ts'
import type { RouteRow } from './server.ts'
import { createSession } from './session.ts'
import { inTurn } from './turns.ts'

/** A receiver, as far as the inspector asks it. */
export type InspectedReceiver = Pick<Receiver, 'stats' | 'health' | 'quarantine' | 'deadLetters' | 'onError'>

interface RouteParts {
  readonly receiver: InspectedReceiver
  readonly looking: Looking
  readonly assets: Assets
  readonly audit: Audit
  readonly openStream: () => Answer
  readonly storeAlone: boolean
}

/** What a change came to, for its answer and for the audit. */
interface Changed {
  readonly answer: object
  readonly ids: readonly string[]
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
  const session = createSession(inside, storeAlone)
  const finding = createFinding(inside)
  const found = { looking, inside, finding }

  /** Whatever comes of it, there is a line of it. */
  async function audited(
    what: AuditEntry['what'],
    asked: Asked,
    { who }: Rights,
    change: () => Promise<Changed>,
  ): Promise<Answer> {
    const entry = { what, who, at: new Date(inside.clock.now()), remoteAddress: asked.remoteAddress }
    try {
      const { answer, ids, result } = await change()
      audit({ ...entry, outcome: 'done', ids, result })
      return json(answer)
    } catch (error) {
      audit({ ...entry, outcome: error instanceof Refused ? 'refused' : 'failed', ids: [], result: {} })
      throw error
    }
  }

  return [
    { method: 'GET', path: '/', run: ({ headers }) => assets.index(headers.get('if-none-match')) },
    {
      method: 'GET',
      path: '/page/:',
      run: ({ headers }, _, [name = '']) =>
        assets.file(name, headers.get('if-none-match')) ?? problem(404, 'not_found', 'The page has no such file.'),
    },
    { method: 'GET', path: '/api/session', run: (_, rights) => json(session(rights)) },
    { method: 'GET', path: '/api/overview', run: async () => json(await overview(receiver, looking)) },
    { method: 'GET', path: '/api/stream', run: openStream },
    {
      method: 'GET',
      path: '/api/events',
      run: async ({ query }, rights) => json(await inTurn(() => listEvents(query, rights, found))),
    },
    {
      method: 'GET',
      path: '/api/events/:',
      run: async ({ query }, rights, [id = '']) =>
        json(await inTurn(() => showEvent(id, messageIn(query), rights, found))),
    },
    {
      method: 'GET',
      path: '/api/events/:/raw',
      async run(asked, rights, [id = '']) {
        const entry = { what: 'events.download', who: rights.who, at: new Date(inside.clock.now()) } as const
        const answer = await inTurn(() => downloadEvent(id, messageIn(asked.query), rights, finding))
        audit({ ...entry, remoteAddress: asked.remoteAddress, outcome: 'done', ids: [id], result: {} })
        return answer
      },
    },
    {
      method: 'GET',
      path: '/api/messages/:',
      run: async ({ query }, rights, [messageId = '']) =>
        json(await inTurn(() => showMessage(messageId, textIn(query, 'project'), rights, found))),
    },
    {
      method: 'GET',
      path: '/api/dead-letters',
      run: async ({ query }, rights) => json(await inTurn(() => listDeadLetters(query, rights, inside))),
    },
    ...CHANGES.map((change): RouteRow => ({
      method: 'POST',
      path: `/api/dead-letters/${change}`,
      run: (asked, rights) =>
        audited(`dead-letters.${change}`, asked, rights, async () => {
          const { ids } = await readChange(asked, rights, idsSchema)
          const answer = await changeDeadLetters(receiver.deadLetters, change, ids)
          const result = { done: answer.done.length, missing: answer.missing.length }
          return { answer, ids, result }
        }),
    })),
    {
      method: 'GET',
      path: '/api/quarantine',
      run: async ({ query }, rights) => json(await listQuarantine(receiver.quarantine, query, rights)),
    },
    {
      method: 'POST',
      path: '/api/quarantine/reverify',
      run: (asked, rights) =>
        audited('quarantine.reverify', asked, rights, async () => {
          const answer = await reverify(receiver.quarantine, await readChange(asked, rights, reverifySchema))
          return { answer, ids: [], result: { ...answer } }
        }),
    },
  ]
}

function messageIn(query: URLSearchParams): MessageName | undefined {
  const messageId = textIn(query, 'of')
  return messageId === undefined ? undefined : { messageId, project: textIn(query, 'project') }
}

/** From a request to its answer: who asks is decided first, then what is asked for; nothing that goes wrong quotes anything. */
import { failureLine } from '../failure-text.ts'
import { isOurs } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { answer, problem, Refused, type Answer } from './answer.ts'
import type { Asked } from './request.ts'
import { readRights, type Rights } from './rights.ts'

/** What is done for a request that may be made. `parts` are what the path has in its open places. */
export type Route = (asked: Asked, rights: Rights, parts: readonly string[]) => Answer | Promise<Answer>

export interface RouteRow {
  readonly method: 'GET' | 'POST'
  /** Such as `/api/events/:/raw`; each `:` is open. */
  readonly path: string
  readonly run: Route
}

interface ServerOptions {
  readonly routes: readonly RouteRow[]
  readonly authorize: (asked: Asked) => unknown
  readonly logger: Logger
  readonly secrets: () => readonly string[]
}

/** Never rejects. */
export function createServer(options: ServerOptions): (asked: Asked) => Promise<Answer> {
  const { routes, authorize, logger, secrets } = options
  const rows = routes.map((row) => ({ ...row, segments: row.path.split('/') }))

  const causeOf = (error: unknown): string => failureLine(error, secrets())

  async function rightsOf(asked: Asked): Promise<Rights | Answer> {
    try {
      const rights = readRights(await authorize(asked))
      return rights ?? problem(403, 'forbidden', 'You may not see this: `authorize` of the inspector did not allow it.')
    } catch (error) {
      const cause = causeOf(error)
      logger.error(
        { code: 'inspector_authorize_failed', cause },
        `\`authorize\` of the inspector threw. The cause: ${cause}`,
      )
      return problem(500, 'authorize_failed', 'It could not be decided whether you may see this; the log says why.')
    }
  }

  async function answerTo(asked: Asked): Promise<Answer> {
    const rights = await rightsOf(asked)
    if ('status' in rights) return rights
    const found = rows.flatMap((row) => {
      const parts = match(row.segments, asked.path.split('/'))
      return parts === undefined ? [] : [{ row, parts }]
    })
    const method = asked.method === 'HEAD' ? 'GET' : asked.method
    const right = found.find(({ row }) => row.method === method)
    if (right !== undefined) return right.row.run(asked, rights, right.parts)
    if (found.length === 0) return problem(404, 'not_found', 'There is nothing at this address of the inspector.')
    const allowed = found.map(({ row }) => (row.method === 'GET' ? 'GET, HEAD' : row.method)).join(', ')
    return problem(405, 'method_not_allowed', `Only ${allowed} is allowed here.`, { allow: allowed })
  }

  return async (asked) => {
    try {
      return await answerTo(asked)
    } catch (error) {
      if (error instanceof Refused) return error.answer
      // What ours say quotes no body.
      if (isOurs(error)) return problem(error.code === 'options_invalid' ? 400 : 503, error.code, error.message)
      const cause = causeOf(error)
      logger.error({ code: 'inspector_failed', cause }, `The inspector met an error of its own. The cause: ${cause}`)
      return problem(500, 'internal', 'The inspector met an error of its own; the log has it.')
    }
  }
}

/** What stands in the open places; undefined where the path is another one. */
function match(segments: readonly string[], path: readonly string[]): readonly string[] | undefined {
  if (segments.length !== path.length) return undefined
  const parts: string[] = []
  for (const [index, segment] of segments.entries()) {
    const given = path[index] ?? ''
    if (segment === ':') parts.push(decoded(given))
    else if (segment !== given) return undefined
  }
  return parts.includes('') ? undefined : parts
}

/** Empty for what is no text. */
function decoded(given: string): string {
  try {
    return decodeURIComponent(given)
  } catch {
    return ''
  }
}

/** To the same address with a slash, whatever stands before it: a proxy may have taken a prefix off. */
export function redirectToSlash(path: string): Answer {
  const last = path.slice(path.lastIndexOf('/') + 1)
  return answer(302, { location: `./${last}/` })
}

/** Contract, service.md#authentication-errors. */
import type { Project, Projects } from '../projects.ts'
import type { Fields } from './read-request.ts'

/** The three refusals: HTTP status and message. The one without credentials has no envelope. */
export const AUTHENTICATION_ERRORS = {
  projectNotFound: { status: 404, message: 'Error. Project not found.' },
  unknownProject: { status: 400, message: 'Error. Unknown project.' },
  unauthenticated: { status: 401, message: 'Unauthenticated.' },
} as const

type AuthenticationError = keyof typeof AUTHENTICATION_ERRORS

/** The project that the request is on behalf of, or why there is none. Names are compared exactly. */
export function authenticate(
  fields: Fields,
  apiKey: string | undefined,
  projects: Projects,
): Project | AuthenticationError {
  if (apiKey === undefined) return 'unauthenticated'
  const name = Object.hasOwn(fields, 'project') ? fields['project'] : undefined
  if (typeof name !== 'string' || name === '') return 'unknownProject'
  const project = projects.find(name)
  if (project === undefined) return 'projectNotFound'
  return project.keys().apiKey === apiKey ? project : 'unknownProject'
}

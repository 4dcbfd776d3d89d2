/** What is shown is told by the address behind its `#`, so that every view can be sent to somebody, under any mount. */
import type { EventRow } from '../shapes.ts'

export interface Route {
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

export type Query = Readonly<Record<string, string | undefined>>

export function readRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split(/\?(.*)/s)
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map(decoded),
    query: new URLSearchParams(query),
  }
}

/** Whoever types an address by hand may leave half an escape in it. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export function href(path: readonly string[], query: Query = {}): string {
  return `#/${path.map(encodeURIComponent).join('/')}${queryOf(query)}`
}

/** With its question mark, and without what is empty or undefined. */
export function queryOf(query: Query): string {
  const text = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) => (value === undefined || value === '' ? [] : [[name, value]])),
  ).toString()
  return text === '' ? '' : `?${text}`
}

/** With its message, by which every store finds it at once. */
export function hrefOfEvent({ id, messageId, project }: Pick<EventRow, 'id' | 'messageId' | 'project'>): string {
  return href(['event', id], { of: messageId, project })
}

export function hrefOfMessage(messageId: string, project: string | undefined): string {
  return href(['message', messageId], { project })
}

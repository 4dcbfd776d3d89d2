/** Changes: who may ask for them, and from where. */
import { z } from 'zod'
import { Refused } from './answer.ts'
import type { Asked } from './request.ts'
import type { Rights } from './rights.ts'

/** Reads what is asked for. Throws a `Refused` for what must not be done, or cannot be read. */
export async function readChange<T>(asked: Asked, { write }: Rights, schema: z.ZodType<T>): Promise<T> {
  if (!write) throw new Refused(403, 'write_required', 'Changes need the right `write`.')
  if (!isSameOrigin(asked.headers))
    throw new Refused(
      403,
      'foreign_origin',
      'Changes are made from the page of the inspector itself, and from nowhere else.',
    )
  const [type = ''] = (asked.headers.get('content-type') ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/json')
    throw new Refused(403, 'not_json', 'Changes are asked for with the content-type application/json.')
  const read = schema.safeParse(parsed(await asked.text()))
  if (!read.success) throw new Refused(400, 'body_invalid', 'The body is not what this address takes.')
  return read.data
}

/** What a browser says of who asks, or else that it asks its own host; a form of another page can say neither. */
function isSameOrigin(headers: Headers): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  const origin = headers.get('origin')
  const host = headers.get('host')
  return origin !== null && host !== null && URL.parse(origin)?.host === host.toLowerCase()
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refused(400, 'body_invalid', 'The body is no JSON.')
  }
}

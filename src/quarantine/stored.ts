/** Kept requests as rows of the local file. */
import type { LocalFile } from '../local-file/local-file.ts'
import type { PackedRequest, PageOfRequests, RequestRow } from '../local-file/request-table.ts'
import { isRecord, parsedJson } from '../runtime/values.ts'
import { QUARANTINE_CLASSES, rankOf, type KeptRequest } from './request.ts'

interface Written extends Omit<KeptRequest, 'id' | 'sequence' | 'callback'> {
  readonly callback: Omit<KeptRequest['callback'], 'captured'> & { readonly decoded: boolean }
}

/** Requests as plain values, with all bodies in one buffer: a small Buffer would clone its whole pool. */
export function packRequests(requests: readonly KeptRequest[]) {
  const parts = requests.map(({ callback }) => callback.captured.bytes)
  return { packed: requests.map(packRequest), bytes: new Uint8Array(Buffer.concat(parts)) }
}

export function packRequest(request: KeptRequest): PackedRequest {
  const { id, sequence: _, callback, ...standing } = request
  const { captured, ...rest } = callback
  const written: Written = { ...standing, callback: { ...rest, decoded: captured.decoded } }
  return {
    digest: id,
    class: QUARANTINE_CLASSES.indexOf(standing.class),
    rank: rankOf(request),
    project: standing.project,
    unchecked: standing.unchecked,
    arrivedAtMs: callback.arrivedAtMs,
    fields: JSON.stringify(written),
    rawLength: captured.bytes.length,
  }
}

/** A page of the table, and the number of rows that cannot be read. */
export async function storedPage(file: LocalFile, page: PageOfRequests) {
  const rows = await file.call('requestPage', page)
  const requests = rows.flatMap((row) => requestIn(row) ?? [])
  return { requests, unreadable: rows.length - requests.length, last: rows.at(-1)?.sequence }
}

const A_PAGE = { limit: 1_000, maxBytes: 16 * 1024 * 1024 }

/** All requests in the file, page by page. */
export async function* storedPages(file: LocalFile): AsyncGenerator<Awaited<ReturnType<typeof storedPage>>> {
  for (let after: number | undefined = 0; after !== undefined;) {
    const page: Awaited<ReturnType<typeof storedPage>> = await storedPage(file, { after, ...A_PAGE })
    yield page
    after = page.last
  }
}

/** Erases matching requests of all processes, or only counts them with `dryRun`. Returns how many there were. */
export async function forgetStored(
  file: LocalFile,
  isMeant: (request: KeptRequest) => boolean,
  dryRun: boolean,
): Promise<number> {
  let found = 0
  for await (const { requests } of storedPages(file)) {
    const meant = requests.filter(isMeant).map(({ sequence }) => sequence)
    found += meant.length
    if (meant.length > 0 && !dryRun) await file.call('removeRequests', meant)
  }
  if (found > 0 && !dryRun) await file.call('overwriteRequests')
  return found
}

function requestIn({ sequence, digest, fields, raw }: RequestRow): KeptRequest | undefined {
  const written = parsedJson(fields)
  if (!isWritten(written)) return undefined
  const { callback, ...standing } = written
  const { decoded, ...rest } = callback
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length)
  return {
    ...standing,
    id: digest,
    sequence,
    // JSON leaves out fields without a value.
    offsetSeconds: standing.offsetSeconds,
    project: standing.project,
    callback: {
      ...rest,
      kind: rest.kind,
      contentEncoding: rest.contentEncoding,
      captured: { kind: 'exact', decoded, bytes },
    },
  }
}

function isWritten(value: unknown): value is Written {
  if (!isRecord(value) || !isRecord(value['callback'])) return false
  const { callback } = value
  const isKnown = QUARANTINE_CLASSES.some((name) => name === value['class'])
  return isKnown && typeof callback['arrivedAtMs'] === 'number' && Array.isArray(callback['signatures'])
}

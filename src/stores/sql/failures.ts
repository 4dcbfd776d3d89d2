/** Converts errors of a server and the network into errors that name their cause and are safe to show. */
import { MessagingWebhooksError } from '../../public/errors.ts'
import { isError } from '../../runtime/values.ts'

const LONGEST_MESSAGE = 500

export type Failures = ReturnType<typeof createFailures>

/** What the errors of an engine mean. */
interface ErrorReader {
  /** The engine as messages name it, and the name of its errors. */
  readonly engine: string
  readonly errorName: string
  /** The message. Other properties of an error quote rows and statements. */
  readonly messageOf: (error: Error) => string
  /** The server's code for the error. Undefined for errors of the network and of the driver. */
  readonly codeOf: (error: unknown) => string | number | undefined
  /** Whether the data of an event caused the error. */
  readonly isOfTheData: (error: unknown) => boolean
  /** Whether the role lacks a privilege. */
  readonly isForbidden: (error: unknown) => boolean
}

/** `secrets`: passwords, which no text may contain. */
export function createFailures(reader: ErrorReader, secrets: readonly string[]) {
  const { engine, errorName, messageOf, codeOf, isOfTheData, isForbidden } = reader
  // The longest first.
  const known = secrets.filter((secret) => secret !== '').toSorted((a, b) => b.length - a.length)
  const redacted = (message: string): string =>
    known.reduce((text, secret) => text.replaceAll(secret, '[redacted]'), message)

  /** The error without the rows, statements and passwords that it may quote. */
  function cleaned(error: unknown): Error {
    const message = isError(error) ? messageOf(error) : 'A value was thrown that is not an error.'
    const code = codeOf(error)
    const end = code === undefined ? '' : ` (${code})`
    const clean = new Error(`${engine}: ${redacted(message).slice(0, LONGEST_MESSAGE)}${end}`)
    clean.name = errorName
    return clean
  }

  return {
    cleaned,
    /**
     * The error that a store operation rejects with. A `MessagingWebhooksError` means that the store is unavailable. Any other
     * error means that an event caused it, and the inbox looks for that event.
     */
    asThrown(error: unknown): Error {
      if (error instanceof MessagingWebhooksError) return error
      const clean = cleaned(error)
      if (isOfTheData(error)) return clean
      const code = isForbidden(error) ? 'store_forbidden' : 'store_failed'
      return new MessagingWebhooksError(code, undefined, { cause: clean })
    },
  }
}

const BETWEEN_NAME_AND_HOST = /^[^:]*:\/\/[^:@/]*:(.*)@/s
const AS_PARAMETER = /[?&\s](?:ssl)?password=([^&\s]+)/g

/** The addresses of databases and the passwords in them, encoded and decoded. No message may contain one. */
export function secretsIn(addresses: readonly (string | undefined)[]): readonly string[] {
  const all = addresses.filter((address) => address !== undefined)
  const written = all.flatMap((address) => [
    BETWEEN_NAME_AND_HOST.exec(address)?.[1] ?? '',
    ...[...address.matchAll(AS_PARAMETER)].map((match) => match[1] ?? ''),
  ])
  return [...all, ...written, ...written.map(decoded)]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Converts errors of a server and the network into errors that name their cause and are safe to show. */
import { MessagingWebhooksError } from '../../public/errors.ts'
import { isError } from '../../runtime/values.ts'
import { createRedaction } from '../secrets.ts'

const LONGEST_MESSAGE = 500

export interface Failures {
  /**
   * The error that a store operation rejects with. A `MessagingWebhooksError` means that the store is unavailable. Any other
   * error means that an event caused it, and the inbox looks for that event.
   */
  asThrown(error: unknown): Error
  /** The error without the rows, statements and passwords that it may quote. */
  cleaned(error: unknown): Error
}

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
export function createFailures(reader: ErrorReader, secrets: readonly string[]): Failures {
  const { engine, errorName, messageOf, codeOf, isOfTheData, isForbidden } = reader
  const redacted = createRedaction(secrets)

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
    asThrown(error) {
      if (error instanceof MessagingWebhooksError) return error
      const clean = cleaned(error)
      if (isOfTheData(error)) return clean
      const code = isForbidden(error) ? 'store_forbidden' : 'store_failed'
      return new MessagingWebhooksError(code, undefined, { cause: clean })
    },
  }
}

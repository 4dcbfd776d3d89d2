/** An app with a receiver, optionally behind a proxy or middleware, and a doctor that probes from outside. */
import http from 'node:http'
import type { CredentialPair, DoctorReport, DoctorFindingCode } from 'messaging-webhooks'
import type { DoctorOptions } from '../../../src/operations/doctor/own-receiver.ts'
import { examine } from '../../../src/operations/doctor/doctor.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { preparePair } from '../../../src/verify/credentials.ts'
import { CREDENTIALS, serve } from '../../support/receiving.ts'

export { CREDENTIALS as PAIR }

/** As the command line does: it knows only the app's URL and credentials. */
export function askDoctor(
  url: string,
  pair: CredentialPair = CREDENTIALS,
  options: Omit<DoctorOptions, 'url'> = {},
): Promise<DoctorReport> {
  const { kind, project, timeoutMs = 10_000 } = options
  return examine({
    ...{ url: new URL(url), kind, project, timeoutMs },
    pair: preparePair(pair, undefined, 'the pair'),
    clock: systemClock(),
    own: undefined,
  })
}

/** The codes of the findings. */
export function faultsOf({ findings }: DoctorReport): readonly DoctorFindingCode[] {
  return findings.filter(({ level }) => level === 'problem' || level === 'warning').map(({ code }) => code)
}

/** The text of one finding. */
export function textOf({ findings }: DoctorReport, code: DoctorFindingCode): string {
  return findings.find((found) => found.code === code)?.what ?? ''
}

/** A proxy's change of a request. */
interface Passed {
  body: Buffer
  /** Names and values in turn, as `rawHeaders` has them. */
  headers: string[]
}

/** A proxy in front of `url` that changes requests. */
export function proxying(url: string, change: (passed: Passed) => void): Promise<string> {
  return serve((request, response) => {
    void (async () => {
      const pieces: Buffer[] = []
      for await (const piece of request) pieces.push(piece as Buffer)
      const passed: Passed = { body: Buffer.concat(pieces), headers: [...request.rawHeaders] }
      change(passed)
      const { body } = passed
      const headers = withoutHeader(withoutHeader(passed.headers, 'connection'), 'content-length')
      const onwards = http.request(url, {
        method: 'POST',
        headers: [...headers, 'Content-Length', String(body.length), 'Connection', 'close'],
      })
      onwards.on('response', (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.pipe(response)
      })
      onwards.on('error', () => response.destroy())
      onwards.end(body)
    })()
  })
}

/** Raw headers without one of them. */
export function withoutHeader(headers: readonly string[], name: string): string[] {
  return headers.filter((_, index) => headers[index - (index % 2)]?.toLowerCase() !== name)
}

/** Raw headers with new values for one of them. */
export function withHeader(
  headers: readonly string[],
  name: string,
  change: (value: string) => readonly string[],
): string[] {
  const at = headers.findIndex((each, index) => index % 2 === 0 && each.toLowerCase() === name)
  const value = headers[at + 1] ?? ''
  return [...withoutHeader(headers, name), ...change(value).flatMap((each) => [name, each])]
}

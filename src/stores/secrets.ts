/** Passwords in the addresses of databases, which no message may contain. */

const BETWEEN_NAME_AND_HOST = /^[^:]*:\/\/[^:@/]*:(.*)@/s
const AS_PARAMETER = /[?&\s](?:ssl)?password=([^&\s]+)/g

/** The addresses and the passwords in them, encoded and decoded. */
export function secretsIn(addresses: readonly (string | undefined)[]): readonly string[] {
  const all = addresses.filter((address) => address !== undefined)
  const written = all.flatMap((address) => [
    BETWEEN_NAME_AND_HOST.exec(address)?.[1] ?? '',
    ...[...address.matchAll(AS_PARAMETER)].map((match) => match[1] ?? ''),
  ])
  return [...all, ...written, ...written.map(decoded)]
}

/** Replaces secrets in a message, the longest first. */
export function createRedaction(secrets: readonly string[]): (message: string) => string {
  const known = secrets.filter((secret) => secret !== '').toSorted((a, b) => b.length - a.length)
  return (message) => known.reduce((text, secret) => text.replaceAll(secret, '[redacted]'), message)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

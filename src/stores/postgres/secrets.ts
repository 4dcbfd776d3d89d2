/** The passwords in an address or in a pool's settings, as they are written and as they are meant. */
import type { Pool } from 'pg'

const BETWEEN_NAME_AND_HOST = /^[^:]*:\/\/[^:@/]*:(.*)@/s
const AS_PARAMETER = /[?&\s](?:ssl)?password=([^&\s]+)/g

export function secretsOf(pool: Pool | undefined, ...addresses: readonly (string | undefined)[]): readonly string[] {
  const all = [...addresses, pool?.options.connectionString].filter((address) => address !== undefined)
  const written = all.flatMap((address) => [
    BETWEEN_NAME_AND_HOST.exec(address)?.[1] ?? '',
    ...[...address.matchAll(AS_PARAMETER)].map((match) => match[1] ?? ''),
  ])
  const set = pool?.options.password
  return [...all, ...written, ...written.map(decoded), ...(typeof set === 'string' ? [set] : [])]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

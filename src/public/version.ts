import { readFileSync } from 'node:fs'
import { z } from 'zod'

const manifest = z.object({ version: z.string() })

export function readVersion(): string {
  // The path works from dist and from src.
  return manifest.parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))).version
}

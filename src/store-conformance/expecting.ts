import type { ConformanceCase } from './suite.ts'

export const EXPECTING: readonly ConformanceCase[] = []

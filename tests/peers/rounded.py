"""Numbers of float32 with the digits that they have."""


def rounded(v):
    if isinstance(v, dict):
        return {key: rounded(x) for key, x in v.items()}
    if isinstance(v, list):
        return [rounded(x) for x in v]
    return float(f"{v:.7g}") if isinstance(v, float) else v
